#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/orchestration/syntax.h"

// Prints programs as C++20 on top of kdl/runtime.hpp. Objects free what they own, and errors are exceptions.

namespace kdl::codegen {

namespace {

/// Returns the text of a size. Operands that are not leaves get parentheses. The leftmost leaf is a
/// kdl::Extent, so that the whole expression is a kdl::Extent.
std::string ExtentText(Size size, const DimName& dim, bool leftmost) {
  if (size->kind == SizeKind::Constant || size->kind == SizeKind::Symbol) {
    std::string leaf = size->kind == SizeKind::Symbol ? dim(size->symbol) : ConstantSizeText(size);
    return leftmost ? fmt::format("kdl::Extent({})", leaf) : leaf;
  }
  if (size->kind == SizeKind::Min)
    return fmt::format("Min({}, {})", ExtentText(size->lhs, dim, true),
                       ExtentText(size->rhs, dim, false));
  static constexpr std::string_view kOperators[] = {"+", "-", "*", "/", "%"};
  auto op = kOperators[static_cast<size_t>(size->kind) - static_cast<size_t>(SizeKind::Add)];
  return fmt::format("({} {} {})", ExtentText(size->lhs, dim, true), op,
                     ExtentText(size->rhs, dim, false));
}

std::string_view Unless(bool is_used) { return is_used ? "" : "[[maybe_unused]] "; }

/// Returns the items of a request as C++ arguments, without absent items at the end.
std::vector<std::string> CppArguments(const Call& call) {
  std::vector<Item> items;
  for (const Item& item : call.items)
    if (item.kind != Item::Kind::Device) items.push_back(item);
  auto is_absent = [](const Item& item) {
    return item.texts.empty() && item.kind != Item::Kind::Sizes &&
           item.kind != Item::Kind::Arguments && item.kind != Item::Kind::Parameters &&
           item.kind != Item::Kind::Named && item.kind != Item::Kind::Variables;
  };
  while (!items.empty() && is_absent(items.back())) items.pop_back();
  std::vector<std::string> texts;
  for (const Item& item : items) {
    bool is_list = item.kind == Item::Kind::Sizes || item.kind == Item::Kind::Arguments ||
                   item.kind == Item::Kind::Parameters || item.kind == Item::Kind::Named ||
                   item.kind == Item::Kind::Variables || item.kind == Item::Kind::Events;
    if (is_list) {
      AddBraced(texts, item.texts);
    } else if (item.texts.empty()) {
      texts.emplace_back(item.kind == Item::Kind::Place ? "nullptr" : "{}");
    } else {
      texts.push_back(item.texts[0]);
    }
  }
  return texts;
}

class SyntaxOfCpp final : public Syntax {
 public:
  std::string Type(Scalar scalar) const override { return CppType(scalar); }

  std::string Literal(Scalar scalar, uint64_t bits, LiteralStyle style) const override {
    if (scalar == Scalar::Bool) return bits ? "true" : "false";
    if (IsNarrowFloat(scalar)) return fmt::format("{}{{{:#06x}}}", CppType(scalar), bits);
    if (IsFloat(scalar)) {
      Scalar integer = scalar == Scalar::F64 ? Scalar::I64 : Scalar::I32;
      return FloatText(scalar, bits)
          .value_or(
              fmt::format("kdl::FromBits({}{{{}}})", CppType(integer), BitsText(scalar, bits)));
    }
    std::string text = IntegerText(scalar, bits);
    if (style == LiteralStyle::Plain || scalar == Scalar::I32) return text;
    return fmt::format("{}{{{}}}", CppType(scalar), text);
  }

  std::string Cast(Scalar to, Scalar, std::string_view text) const override {
    return fmt::format("kdl::As<{}>({})", CppType(to), text);
  }

  std::string Apply(const Operator& op, Scalar, std::vector<std::string> operands,
                    const std::string& trap) const override {
    if (!trap.empty()) operands.push_back(trap);
    return fmt::format("kdl::{}({})", op.cpp, fmt::join(operands, ", "));
  }

  std::string SizeText(Size size, const DimName& dim, const std::string& trap) const override {
    return fmt::format("{}.Get({})", ExtentText(size, dim, true), trap);
  }

  void Constant(Writer& writer, Scalar scalar, const std::string& name, const std::string& value,
                bool is_used, const std::string& place) const override {
    writer.Line(
        fmt::format("{}const {} {} = {};{}", Unless(is_used), CppType(scalar), name, value, place));
  }

  void Variable(Writer& writer, Scalar scalar, const std::string& name, const std::string& value,
                bool is_used) const override {
    writer.Line(fmt::format("{}{} {} = {};", Unless(is_used), CppType(scalar), name,
                            value.empty() ? "{}" : value));
  }

  void Next(Writer& writer, Scalar, const std::string& name,
            const std::string& value) const override {
    writer.Line(fmt::format("const auto {} = {};", name, value));
  }

  void Discard(Writer& writer, const std::string& value, const std::string& place) const override {
    writer.Line(fmt::format("static_cast<void>({});{}", value, place));
  }

  void OpenLoop(Writer& writer, const LoopHead& loop, CppNames&) const override {
    std::vector<std::string> bounds = {loop.lo, loop.hi};
    if (!loop.step.empty()) bounds.push_back(loop.step);
    writer.List(
        fmt::format("for ({}const std::int64_t {} : kdl::Steps(", Unless(loop.is_used), loop.index),
        bounds, ")) {" + loop.place);
  }

  void OpenWhile(Writer& writer, const std::string& condition,
                 const std::string& place) const override {
    writer.Line(fmt::format("while ({}) {{{}", condition, place));
  }

  void CloseBlock(Writer&, const std::vector<Owned>&) const override {}

  void Print(Writer& writer, const Call& call, const Given& given,
             const std::string& place) const override {
    std::string head;
    if (call.request == Request::Transfer) {
      head = fmt::format("auto [{}, {}] = ", given.tensor, given.event);
    } else if (!given.tensor.empty()) {
      head = fmt::format("kdl::Tensor {} = ", given.tensor);
    } else if (!given.event.empty()) {
      head = fmt::format("const kdl::Event {} = ", given.event);
    } else if (!given.value.empty()) {
      head = fmt::format("const {} {} = ", CppType(call.element), given.value);
    }
    writer.List(head + Head(call), CppArguments(call), ");" + place);
  }

  std::string Text(const Call& call) const override {
    return fmt::format("{}{})", Head(call), fmt::join(CppArguments(call), ", "));
  }

  bool MayNest() const override { return true; }
  std::string Tensor(const std::string& name, bool) const override { return name; }
  std::string TensorArgument(const std::string& text) const override { return text; }
  std::string ScalarArgument(Scalar, const std::string& text) const override { return text; }
  std::string VariableArgument(Scalar, const std::string& name) const override { return name; }

  std::string Element(Scalar scalar) const override {
    return scalar == Scalar::Bool ? "kdl::bool_" : fmt::format("kdl::{}", Spelling(scalar));
  }

  std::string Cores(const std::string& number, bool is_literal) const override {
    if (number.empty()) return "KDL_CORES_AUTO";
    return is_literal ? number : fmt::format("kdl::Cores({})", number);
  }

  std::string_view Compare(size_t compare) const override {
    static constexpr std::string_view kCompares[] = {"std::equal_to<>()", "std::not_equal_to<>()",
                                                     "std::less<>()",     "std::less_equal<>()",
                                                     "std::greater<>()",  "std::greater_equal<>()"};
    return kCompares[compare];
  }

  std::string Queue(const std::string& device, int64_t queue) const override {
    return fmt::format("{}.queue({})", device, queue);
  }

  std::string MarkName(const std::string& device, int64_t queue) const override {
    return fmt::format("{}_queue{}", device, queue);
  }

  void MakeWorkspace(Writer& writer, const std::string& name, const std::string& device,
                     const std::string& users) const override {
    writer.Line(fmt::format("kdl::Workspace {}({}, {});", name, device, users));
  }

  void EndTensor(Writer& writer, const std::string& name) const override {
    writer.Line(name + " = {};");
  }

  void Swap(Writer& writer, const std::string& a, const std::string& b,
            const std::string& place) const override {
    writer.Line(fmt::format("std::swap({}, {});{}", a, b, place));
  }

  void OpenProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                   CppNames& names) override {
    OwnNames own = OtherNames(program.params, program.constants);
    context_ = own.context;
    devices_ = own.devices;
    for (const std::string& name : {context_, devices_}) names.Pick(name);
    DeclareProgram(writer, face, program, Defaults::Absent, ") {");
    writer.Indent();
    writer.Line(fmt::format("const kdl::FloatState {};", names.Pick("floats")));
  }

  /// The rest of the program is a lambda.
  void BeginCall(Writer& writer, Call call) override {
    call.items.emplace_back("[&] {");
    std::vector<std::string> texts = CppArguments(call);
    texts.insert(texts.begin(), context_);
    writer.List(Head(call), texts, "");
    writer.Indent();
    is_called_in_all_ = true;
  }

  void SelectNothing(Writer& writer, bool has_devices) const override {
    Discard(writer, context_, "");
    if (has_devices) Discard(writer, devices_, "");
  }

  void Select(Writer& writer, const std::string& name, const FaceDevice& device) const override {
    writer.Line(fmt::format("const kdl::Device {} = {}.Select({}.{}).Own();", name, context_,
                            devices_, device.name));
  }

  /// Declares a kdl::Drain for the queues. If an exception is thrown, its destructor waits for all submitted
  /// operations before the program ends.
  void OpenQueues(Writer& writer, const Queues& queues, CppNames& names) override {
    drain_ = names.Pick("running");
    std::vector<std::string> texts;
    for (const auto& [device, queue] : queues) texts.push_back(Queue(device, queue));
    writer.List(fmt::format("const kdl::Drain {}({{", drain_), texts, "});");
  }

  void OpenRanks(Writer& writer, const std::string& name,
                 const std::vector<int64_t>& shape) override {
    writer.Line(fmt::format("kdl::Ranks {}({}, {{{}}});", name, context_, fmt::join(shape, ", ")));
  }

  void OpenCheckpoints(Writer& writer, const std::string& name, const std::string& ranks,
                       const std::vector<std::string>& program,
                       const std::vector<std::string>& files) override {
    std::vector<std::string> texts = {context_, ranks.empty() ? "nullptr" : ranks + ".get()"};
    texts.insert(texts.end(), program.begin(), program.end());
    AddBraced(texts, files);
    writer.List(fmt::format("const kdl::Checkpoints {}(", name), texts, ");");
  }

  std::string TensorSizeText(const std::string& param, size_t dimension) const override {
    return fmt::format("{}.size({})", param, dimension);
  }

  void CloseProgram(Writer& writer) const override {
    if (!drain_.empty()) writer.Line(drain_ + ".Wait();");
    if (is_called_in_all_) {
      writer.Outdent();
      writer.Line("});");
    }
    writer.Outdent();
    writer.Line("}");
  }

  /// The result depends only on `name`, not on names that are already taken.
  std::string FnName(const std::string& name) const override {
    return CppNames().Pick(name) == name ? name : "kdl_fn_" + name;
  }

  void OpenFn(Writer& writer, const FnFace& fn, const std::vector<FnParam>& params,
              CppNames&) override {
    std::vector<std::string> texts;
    for (const FnParam& param : params)
      texts.push_back(
          fmt::format("{}{} {}", Unless(param.is_used), CppType(param.scalar), param.name));
    writer.List(fmt::format("static {} {}(", ResultType(fn), fn.name), texts, ") {");
  }

  void Return(Writer& writer, const FnFace&,
              const std::vector<std::string>& values) const override {
    if (values.size() == 1) return writer.Line(fmt::format("return {};", values[0]));
    writer.List("return {", values, "};");
  }

  void CallFn(Writer& writer, const FnFace& fn, const FnCall& call, CppNames&) const override {
    std::string head = fmt::format("fn::{}(", fn.name);
    std::string tail = ")";
    if (!call.mask.empty()) {
      head = fmt::format("{} ? {}", call.mask, head);
      tail = fmt::format(") : {}{{}}", ResultType(fn));
    }
    std::string declared =
        call.names.size() == 1
            ? fmt::format("{}const {} {}", Unless(call.is_used), CppType(fn.results[0]),
                          call.names[0])
            : fmt::format("[[maybe_unused]] const auto [{}]", fmt::join(call.names, ", "));
    writer.List(fmt::format("{} = {}", declared, head), call.args, tail + ";" + call.place);
  }

 private:
  std::string Head(const Call& call) const {
    const std::string& on = call.request == Request::Allocate ? context_ : call.on;
    std::string head = fmt::format("{}{}{}", on, on.empty() ? "" : ".", NamesOf(call.request).cpp);
    if (call.request == Request::Read) head += fmt::format("<{}>", CppType(call.element));
    return head + "(";
  }

  /// Returns the C++ type of the results. Several results are returned as a tuple.
  static std::string ResultType(const FnFace& fn) {
    if (fn.results.size() == 1) return CppType(fn.results[0]);
    std::vector<std::string> types;
    for (Scalar scalar : fn.results) types.push_back(CppType(scalar));
    return fmt::format("std::tuple<{}>", fmt::join(types, ", "));
  }

  std::string context_;
  std::string devices_;
  std::string drain_;
  bool is_called_in_all_ = false;  ///< whether all processes call the program
};

}  // namespace

std::unique_ptr<Syntax> MakeCppSyntax() { return std::make_unique<SyntaxOfCpp>(); }

}  // namespace kdl::codegen
