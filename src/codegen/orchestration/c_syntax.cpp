#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/orchestration/syntax.h"

// Prints programs as C11 on top of kdl/program.h. Errors are stored in a kdl_program, and objects that a
// block creates are freed at the end of the block.

namespace kdl::codegen {

namespace {

void AddListed(std::vector<std::string>& texts, std::string_view macro,
               const std::vector<std::string>& items) {
  if (items.empty()) {
    texts.emplace_back("NULL, 0");
  } else {
    AddBraced(texts, items, fmt::format("{}(", macro), ")");
  }
}

/// Returns all items of the request as C arguments.
std::vector<std::string> CArguments(const Call& call) {
  std::vector<std::string> texts;
  for (const Item& item : call.items) {
    if (item.kind == Item::Kind::Sizes) {
      AddListed(texts, "KDL_SIZES", item.texts);
    } else if (item.kind == Item::Kind::Arguments) {
      AddListed(texts, "KDL_ARGS", item.texts);
    } else if (item.kind == Item::Kind::Parameters) {
      AddListed(texts, "KDL_PARAMETERS", item.texts);
    } else if (item.kind == Item::Kind::Named) {
      AddListed(texts, "KDL_NAMED_ARGS", item.texts);
    } else if (item.kind == Item::Kind::Variables) {
      AddListed(texts, "KDL_VARIABLES", item.texts);
    } else if (item.kind == Item::Kind::Events) {
      AddListed(texts, "KDL_EVENTS", item.texts);
    } else if (item.kind == Item::Kind::Elements) {
      texts.emplace_back(item.texts.empty() ? "KDL_MOVE_ELEMENTS" : "KDL_LEAVE_ELEMENTS");
    } else {
      texts.push_back(item.texts.empty() ? "NULL" : item.texts[0]);
    }
  }
  return texts;
}

/// Returns whether the C function for the request has a parameter through which it returns an event.
bool GivesEvent(Request request) {
  return request == Request::Transfer || request == Request::Move || request == Request::CopyBack ||
         request == Request::Copy || request == Request::Fill || request == Request::Launch ||
         request == Request::Mark;
}

/// Returns text like `KDL_F32`.
std::string CElement(Scalar scalar) {
  std::string name = "KDL_";
  for (char ch : Spelling(scalar)) name += static_cast<char>(std::toupper(ch));
  return name;
}

class SyntaxOfC final : public Syntax {
 public:
  std::string Type(Scalar scalar) const override { return CType(scalar); }

  std::string Literal(Scalar scalar, uint64_t bits, LiteralStyle style) const override {
    if (scalar == Scalar::Bool) return bits ? "true" : "false";
    if (IsNarrowFloat(scalar)) return fmt::format("({}){:#06x}", CType(scalar), bits);
    if (IsFloat(scalar)) {
      std::string_view integer = scalar == Scalar::F64 ? "i64" : "i32";
      return FloatText(scalar, bits)
          .value_or(fmt::format("kdl_from_bits_{}({})", integer, BitsText(scalar, bits)));
    }
    std::string text = IntegerText(scalar, bits);
    if (style == LiteralStyle::Plain || scalar == Scalar::I32) return text;
    return fmt::format("({}){}", CType(scalar), text);
  }

  std::string Cast(Scalar to, Scalar from, std::string_view text) const override {
    if (IsNarrowFloat(to) && IsNarrowFloat(from))
      return to == from ? std::string(text) : Cast(to, Scalar::F32, Cast(Scalar::F32, from, text));
    return fmt::format("kdl_{}_of_{}({})", Spelling(to), Spelling(from), text);
  }

  std::string Apply(const Operator& op, Scalar scalar, std::vector<std::string> operands,
                    const std::string& trap) const override {
    if (!trap.empty())
      operands[1] =
          fmt::format("kdl_divisor_{}({}, {}, {})", Spelling(scalar), run_, operands[1], trap);
    return fmt::format("kdl_{}_{}({})", op.c, Spelling(scalar), fmt::join(operands, ", "));
  }

  std::string SizeText(Size size, const DimName& dim, const std::string& trap) const override {
    return fmt::format("kdl_extent({}, {}, {})", run_, CSizeText(size, dim), trap);
  }

  void Constant(Writer& writer, Scalar scalar, const std::string& name, const std::string& value,
                bool is_used, const std::string& place) const override {
    writer.Line(fmt::format("const {} {} = {};{}", CType(scalar), name, value, place));
    if (!is_used) Discard(writer, name, "");
  }

  void Variable(Writer& writer, Scalar scalar, const std::string& name, const std::string& value,
                bool is_used) const override {
    writer.Line(fmt::format("{} {} = {};", CType(scalar), name, value.empty() ? "0" : value));
    if (!is_used) Discard(writer, name, "");
  }

  void Next(Writer& writer, Scalar scalar, const std::string& name,
            const std::string& value) const override {
    writer.Line(fmt::format("const {} {} = {};", CType(scalar), name, value));
  }

  void Discard(Writer& writer, const std::string& value, const std::string& place) const override {
    writer.Line(fmt::format("(void){};{}", value, place));
  }

  /// Prints the head of a loop. A bound that is not a name or a number is stored in a constant before the
  /// loop, so that it is computed only once.
  void OpenLoop(Writer& writer, const LoopHead& loop, CppNames& names) const override {
    std::string hi = loop.hi;
    if (hi.find_first_of("( ") != std::string::npos) {
      hi = names.Pick(loop.index + "_end");
      writer.Line(fmt::format("const int64_t {} = {};", hi, loop.hi));
    }
    std::string next = "++" + loop.index;
    if (!loop.step.empty()) {
      std::string step = names.Pick(loop.index + "_step");
      writer.Line(fmt::format("const int64_t {} = kdl_step({}, {});", step, run_, loop.step));
      next = fmt::format("{0} = kdl_next({0}, {1}, {2})", loop.index, step, hi);
    }
    writer.Line(fmt::format("for (int64_t {0} = {1}; {0} < {2} && kdl_goes({3}); {4}) {{{5}",
                            loop.index, loop.lo, hi, run_, next, loop.place));
  }

  void OpenWhile(Writer& writer, const std::string& condition,
                 const std::string& place) const override {
    writer.Line(fmt::format("while ({} && kdl_goes({})) {{{}", condition, run_, place));
  }

  void CloseBlock(Writer& writer, const std::vector<Owned>& owned) const override {
    for (const Owned& thing : owned) {
      if (thing.kind == Owned::Kind::Tensor) EndTensor(writer, thing.name);
      if (thing.kind == Owned::Kind::Event)
        writer.Line(fmt::format("kdl_event_free({});", thing.name));
      if (thing.kind == Owned::Kind::Workspace)
        writer.Line(fmt::format("kdl_buffer_free({}.buffer);", thing.name));
    }
  }

  void Print(Writer& writer, const Call& call, const Given& given,
             const std::string& place) const override {
    bool has_event = !given.event.empty() && given.is_event_used;
    if (has_event) writer.Line(fmt::format("kdl_event* {} = NULL;", given.event));
    std::string head;
    if (!given.tensor.empty()) head = fmt::format("kdl_array {} = ", given.tensor);
    if (!given.value.empty())
      head = fmt::format("const {} {} = ", CType(call.element), given.value);
    std::vector<std::string> items = Arguments(call);
    if (GivesEvent(call.request)) items.push_back(has_event ? "&" + given.event : "NULL");
    writer.List(head + Function(call) + "(", items, ");" + place);
  }

  std::string Text(const Call& call) const override {
    return fmt::format("{}({})", Function(call), fmt::join(Arguments(call), ", "));
  }

  bool MayNest() const override { return false; }
  std::string Tensor(const std::string& name, bool is_param) const override {
    return is_param ? name : "&" + name;
  }
  std::string TensorArgument(const std::string& text) const override {
    return fmt::format("kdl_arg_array({})", text);
  }
  std::string ScalarArgument(Scalar scalar, const std::string& text) const override {
    return fmt::format("kdl_arg_{}({})", Spelling(scalar), text);
  }
  std::string VariableArgument(Scalar scalar, const std::string& name) const override {
    return fmt::format("{{&{}, {}}}", name, CElement(scalar));
  }
  std::string Element(Scalar scalar) const override { return CElement(scalar); }

  std::string Cores(const std::string& number, bool) const override {
    return number.empty() ? "kdl_all_cores()" : fmt::format("kdl_on_cores({})", number);
  }

  std::string_view Compare(size_t compare) const override {
    static constexpr std::string_view kCompares[] = {"KDL_EQUAL",   "KDL_NOT_EQUAL",
                                                     "KDL_LESS",    "KDL_LESS_EQUAL",
                                                     "KDL_GREATER", "KDL_GREATER_EQUAL"};
    return kCompares[compare];
  }

  std::string Queue(const std::string& device, int64_t queue) const override {
    for (const auto& [opened, name] : queues_)
      if (opened.first == device && opened.second == queue) return name;
    return "";
  }

  std::string MarkName(const std::string& device, int64_t queue) const override {
    return fmt::format("{}_queue{}_mark", device, queue);
  }

  void MakeWorkspace(Writer& writer, const std::string& name, const std::string& device,
                     const std::string& users) const override {
    writer.Line(fmt::format("kdl_workspace {} = {{{}, {}, NULL}};", name, device, users));
  }

  void EndTensor(Writer& writer, const std::string& name) const override {
    writer.Line(fmt::format("kdl_array_free(&{});", name));
  }

  void Swap(Writer& writer, const std::string& a, const std::string& b,
            const std::string& place) const override {
    writer.Line(fmt::format("kdl_swap(&{}, &{});{}", a, b, place));
  }

  void OpenProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                   CppNames& names) override {
    OwnNames own = OtherNames(program.params, program.constants);
    for (const std::string& name : {own.context, own.devices}) names.Pick(name);
    devices_ = own.devices;
    std::string run = names.Pick("run");
    run_ = "&" + run;
    DeclareCProgram(writer, face, program, ") {");
    writer.Indent();
    writer.Line(fmt::format("kdl_program {} = kdl_begin({});", run, own.context));
    for (const FaceParam& param : program.params) {
      if (param.is_tensor)
        writer.Line(fmt::format("kdl_given({}, {}, {});", run_, param.name,
                                Quoted(param.param->value->name().text())));
    }
  }

  void BeginCall(Writer& writer, Call call) override {
    Print(writer, call, {}, "");
    is_called_in_all_ = true;
  }

  void SelectNothing(Writer& writer, bool has_devices) const override {
    if (has_devices) Discard(writer, devices_, "");
  }

  void Select(Writer& writer, const std::string& name, const FaceDevice& device) const override {
    writer.List(fmt::format("kdl_device* const {} = kdl_select(", name),
                {run_, fmt::format("{0} == NULL ? NULL : {0}->{1}", devices_, device.name),
                 Quoted(device.spec)},
                ");");
  }

  void OpenQueues(Writer& writer, const Queues& queues, CppNames& names) override {
    for (const auto& queue : queues) {
      std::string name = names.Pick(fmt::format("{}_queue{}", queue.first, queue.second));
      queues_.push_back({queue, name});
      writer.Line(fmt::format("kdl_queue* const {} = kdl_open_queue({}, {}, {});", name, run_,
                              queue.first, queue.second));
    }
  }

  void OpenRanks(Writer& writer, const std::string& name,
                 const std::vector<int64_t>& shape) override {
    std::vector<std::string> texts = {run_};
    std::vector<std::string> lengths;
    for (int64_t length : shape) lengths.push_back(fmt::format("{}", length));
    AddListed(texts, "KDL_SIZES", lengths);
    writer.List(fmt::format("kdl_ranks* const {} = kdl_open_ranks(", name), texts, ");");
    ranks_.push_back(name);
  }

  void OpenCheckpoints(Writer& writer, const std::string& name, const std::string& ranks,
                       const std::vector<std::string>& program,
                       const std::vector<std::string>& files) override {
    std::vector<std::string> texts = {run_, ranks.empty() ? "NULL" : ranks};
    texts.insert(texts.end(), program.begin(), program.end());
    AddListed(texts, "KDL_FILES", files);
    writer.List(fmt::format("kdl_checkpoints* const {} = kdl_open_checkpoints(", name), texts,
                ");");
    checkpoints_ = name;
  }

  std::string TensorSizeText(const std::string& param, size_t dimension) const override {
    return fmt::format("kdl_size({}, {}, {})", run_, param, dimension);
  }

  void CloseProgram(Writer& writer) const override {
    for (const auto& [queue, name] : queues_)
      writer.Line(fmt::format("kdl_close_queue({}, {});", run_, name));
    if (!checkpoints_.empty()) writer.Line(fmt::format("kdl_checkpoints_free({});", checkpoints_));
    for (const std::string& ranks : ranks_) writer.Line(fmt::format("kdl_ranks_free({});", ranks));
    if (is_called_in_all_) writer.Line(fmt::format("kdl_end_call({});", run_));
    writer.Line(fmt::format("return kdl_end({});", run_));
    writer.Outdent();
    writer.Line("}");
  }

  /// The result does not clash with other names, since no name in the source begins with `kdl_`.
  std::string FnName(const std::string& name) const override { return "kdl_fn_" + name; }

  void OpenFn(Writer& writer, const FnFace& fn, const std::vector<FnParam>& params,
              CppNames& names) override {
    std::vector<std::string> texts;
    run_ = names.Pick("run");
    if (fn.stops) texts.push_back("kdl_program* " + run_);
    for (const FnParam& param : params)
      texts.push_back(fmt::format("{} {}", CType(param.scalar), param.name));
    if (texts.empty()) texts.emplace_back("void");
    if (fn.results.size() > 1) {
      writer.Line(fmt::format("typedef struct {} {{", ResultType(fn)));
      for (size_t i = 0; i < fn.results.size(); ++i)
        writer.Line(fmt::format("  {} value{};", CType(fn.results[i]), i));
      writer.Line(fmt::format("}} {};", ResultType(fn)));
      writer.Line();
    }
    writer.List(fmt::format("static {} {}(", ResultType(fn), fn.name), texts, ") {");
    writer.Indent();
    for (const FnParam& param : params)
      if (!param.is_used) Discard(writer, param.name, "");
    writer.Outdent();
  }

  void Return(Writer& writer, const FnFace& fn,
              const std::vector<std::string>& values) const override {
    if (values.size() == 1) return writer.Line(fmt::format("return {};", values[0]));
    writer.List(fmt::format("return ({}){{", ResultType(fn)), values, "};");
  }

  void CallFn(Writer& writer, const FnFace& fn, const FnCall& call,
              CppNames& names) const override {
    bool is_one = call.names.size() == 1;
    std::string all = is_one ? call.names[0] : names.Pick(call.names[0] + "_values");
    std::vector<std::string> args = call.args;
    if (fn.stops) args.insert(args.begin(), run_);
    std::string head = fn.name + "(";
    std::string tail = ")";
    if (!call.mask.empty()) {
      head = fmt::format("{} ? {}", call.mask, head);
      tail = is_one ? ") : 0" : fmt::format(") : ({}){{0}}", ResultType(fn));
    }
    writer.List(fmt::format("const {} {} = {}", ResultType(fn), all, head), args,
                tail + ";" + call.place);
    if (is_one) {
      if (!call.is_used) Discard(writer, all, "");
      return;
    }
    for (size_t i = 0; i < call.names.size(); ++i)
      Constant(writer, fn.results[i], call.names[i], fmt::format("{}.value{}", all, i), false, "");
  }

 private:
  std::string Function(const Call& call) const {
    bool is_typed = call.request == Request::Read || call.request == Request::Write;
    return fmt::format("{}{}{}", NamesOf(call.request).c, is_typed ? "_" : "",
                       is_typed ? Spelling(call.element) : "");
  }

  std::vector<std::string> Arguments(const Call& call) const {
    std::vector<std::string> items = CArguments(call);
    if (!call.on.empty()) items.insert(items.begin(), call.on);
    items.insert(items.begin(), run_);
    return items;
  }

  /// Returns the C type of the results. Several results are returned as a struct.
  static std::string ResultType(const FnFace& fn) {
    return fn.results.size() == 1 ? CType(fn.results[0]) : fn.name + "_values";
  }

  std::string run_;  ///< the argument for the program's state
  std::string devices_;
  std::vector<std::pair<Queues::value_type, std::string>> queues_;
  std::vector<std::string> ranks_;
  std::string checkpoints_;
  bool is_called_in_all_ = false;  ///< whether all processes call the program
};

}  // namespace

std::unique_ptr<Syntax> MakeCSyntax() { return std::make_unique<SyntaxOfC>(); }

std::string CSizeText(Size size, const DimName& dim) {
  static constexpr std::string_view kOperations[] = {"",    "",    "add", "sub",
                                                     "mul", "div", "mod", "min"};
  if (size->kind == SizeKind::Constant) return ConstantSizeText(size);
  if (size->kind == SizeKind::Symbol) return dim(size->symbol);
  return fmt::format("kdl_size_{}({}, {})", kOperations[static_cast<size_t>(size->kind)],
                     CSizeText(size->lhs, dim), CSizeText(size->rhs, dim));
}

}  // namespace kdl::codegen
