#include "ir/print/printer.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/format.h"
#include "ir/op_table.h"
#include "ir/print/literals.h"
#include "ir/print/value_names.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

template <class List, class Text>
std::string Joined(const List& list, std::string_view separator, Text&& text) {
  std::string joined;
  for (const auto& item : list) {
    if (!joined.empty()) joined += separator;
    joined += text(item);
  }
  return joined;
}

std::string TypeText(Type type, const FunctionNames& names) {
  auto axes = [&] {
    return Joined(type->axes, " ", [&](AxisId axis) { return names.NameOf(axis); });
  };
  auto dims = [&] {
    return Joined(type->dims, ",", [](Size size) { return kdl::ToString(size); });
  };
  switch (type->kind) {
    case TypeKind::Tile:
      if (type->axes.empty()) return std::string(Spelling(type->scalar));
      return fmt::format("tile<{}; {}>", Spelling(type->scalar), axes());
    case TypeKind::Tensor:
      return fmt::format("tensor<{},[{}]>", Spelling(type->scalar), dims());
    case TypeKind::Block:
      return fmt::format("block<{}>", axes());
    case TypeKind::TileBuffer:
      return fmt::format("tile_buffer<{}; {}{}{}{}>", Spelling(type->scalar), axes(),
                         type->panel ? fmt::format("; panel {}", type->panel) : "",
                         type->group > 1 ? fmt::format("; group {}", type->group) : "",
                         type->pad ? fmt::format("; pad {}", type->pad) : "");
    case TypeKind::Buffer:
      return fmt::format("buffer<{},[{}]{}>", Spelling(type->scalar), dims(),
                         type->space == Space::Workgroup ? "; workgroup" : "");
    case TypeKind::Pipe:
      return fmt::format("pipe<{},[{}]>", Spelling(type->scalar), dims());
    case TypeKind::Event:
      return "event";
    case TypeKind::Workspace:
      return "workspace";
    case TypeKind::Vector:
      return fmt::format("vec<{} x {}>", Spelling(type->scalar), Lanes(type));
  }
  KDL_UNREACHABLE("unknown type kind {}", static_cast<int>(type->kind));
}

Type FirstType(const Op* op) { return op->results().empty() ? ir::Type() : op->result(0)->type(); }

/// Prints the ops of one function.
class OpPrinter {
 public:
  OpPrinter(const FunctionNames& names, PrintOptions options) : names_(names), options_(options) {}

  void PrintRegion(const Region* region, int depth);
  void PrintOp(const Op* op, int depth);
  /// Prints the op up to the opening brace of its first region, or the whole op if it has no region.
  void PrintFirstLine(const Op* op);
  std::string Type(ir::Type type) const { return TypeText(type, names_); }
  std::string LocText(const Loc& loc) const;
  bool IsImplied(const Op* op) const;
  std::string& text() { return text_; }

 private:
  std::string ValueText(const Value* value) const { return std::string(names_.NameOf(value)); }
  template <class List>
  std::string Values(const List& values) const {
    return Joined(values, ", ", [&](const Value* value) { return names_.NameOf(value); });
  }
  std::string Types(const std::vector<Value*>& values) const {
    return Joined(values, ", ", [&](const Value* value) { return Type(value->type()); });
  }
  void PrintPieces(const Op* op, const std::vector<FormatPiece>& pieces);
  void PrintAttribute(const Op* op, AttrKey key, bool in_braces);
  void PrintBraces(const Op* op);
  void PrintRegionHeader(const Op* op);
  std::string ParamText(const Op* op, size_t i) const;
  std::string TypedParam(const Op* op, size_t i) const;
  std::string OperandText(const Op* op, size_t i) const;
  /// Returns `%a in %x, %b in %y`, which pairs `count` parameters, starting with number `first_param`, with
  /// the operands.
  std::string Elements(const Op* op, size_t count, size_t first_param) const;
  std::string ForHead(const Op* op) const;
  std::string SplitHead(const Op* op) const;
  std::string LoopHead(const Op* op) const;
  std::string WhileHead(const Op* op) const;
  std::string IfHead(const Op* op) const;
  std::string SpmdHead(const Op* op) const;
  std::string ElementwiseLoopHead(const Op* op) const;
  std::string FoldHead(const Op* op) const;
  std::string NoHead(const Op* op) const;
  /// Returns the text of the carried values of a region. Parameter number `first` is the first carried value.
  std::string Carried(std::span<Value* const> inits, const Region* region, size_t first = 1) const;
  std::string AccessText(const Op* op, const Access& access) const;
  std::string DimText(const Op* op, const AccessDim& dim) const;

  const FunctionNames& names_;
  PrintOptions options_;
  std::string text_;
};

/// Appends `+ coefficient` or `- coefficient`. At the start of an index, there is no space after the sign.
/// The least int64_t is printed in parentheses with its sign, because its negation does not fit in an
/// int64_t.
void AppendSigned(std::string& text, Size size, std::string_view factor) {
  bool least = IsConstant(size, INT64_MIN);
  bool negative = IsConstant(size) && size->value < 0 && !least;
  if (!text.empty()) {
    text += negative ? " - " : " + ";
  } else if (negative) {
    text += "-";
  }
  std::string amount = kdl::ToString(size);
  if (negative) amount.erase(0, 1);
  if (least) amount = fmt::format("({})", amount);
  if (factor.empty()) {
    text += amount;
  } else if (amount == "1") {
    text += factor;
  } else {
    text += fmt::format("{}*{}", amount, factor);
  }
}

std::string OpPrinter::DimText(const Op* op, const AccessDim& dim) const {
  std::string text;
  std::span<Value* const> index = op->Segment(AccessOperands(op->kind()));
  for (const AccessTerm& term : dim.terms) {
    AppendSigned(text, term.coefficient,
                 term.operand < index.size() ? names_.NameOf(index[term.operand]) : "%?");
  }
  if (text.empty() || !IsConstant(dim.offset, 0)) AppendSigned(text, dim.offset, "");
  return text;
}

std::string OpPrinter::AccessText(const Op* op, const Access& access) const {
  return "[" + Joined(access.dims, ", ", [&](const AccessDim& dim) { return DimText(op, dim); }) +
         "]";
}

void OpPrinter::PrintAttribute(const Op* op, AttrKey key, bool in_braces) {
  const Attr* attr = op->FindAttr(key);
  if (!attr) {
    text_ += "?";
    return;
  }
  const AttrValue& value = attr->value;
  auto axes = [&] {
    return Joined(std::get<AxisList>(value), ", ",
                  [&](AxisId axis) { return names_.NameOf(axis); });
  };
  switch (FormOf(key)) {
    case AttrForm::Integer:
    case AttrForm::Flag:
      text_ += fmt::format("{}", std::get<int64_t>(value));
      break;
    case AttrForm::BitPattern:
      text_ += ConstantText(op->result()->type()->scalar,
                            static_cast<uint64_t>(std::get<int64_t>(value)));
      break;
    case AttrForm::Enumerator:
      text_ += EnumeratorSpelling(key, std::get<int64_t>(value));
      break;
    case AttrForm::Text:
      text_ += Quoted(std::get<Name>(value).text());
      break;
    case AttrForm::Symbol:
      text_ += "@" + NameText(std::get<Name>(value).text());
      break;
    case AttrForm::Axes:
      text_ += in_braces || std::get<AxisList>(value).empty() ? "(" + axes() + ")" : axes();
      break;
    case AttrForm::Access:
      text_ += AccessText(op, std::get<Access>(value));
      break;
    case AttrForm::Size:
      text_ += kdl::ToString(std::get<Size>(value));
      break;
    case AttrForm::Numbers: {
      auto text = [](int64_t number) { return fmt::format("{}", number); };
      text_ += "[" + Joined(std::get<NumberList>(value), ", ", text) + "]";
      break;
    }
    case AttrForm::Elements: {
      Scalar scalar = op->result()->type()->scalar;
      auto text = [&](uint64_t bits) { return ConstantText(scalar, bits); };
      text_ += "[" + Joined(std::get<ElementBits>(value), ", ", text) + "]";
      break;
    }
  }
}

void OpPrinter::PrintPieces(const Op* op, const std::vector<FormatPiece>& pieces) {
  for (const FormatPiece& piece : pieces) {
    switch (piece.kind) {
      case FormatPiece::Kind::Literal:
        text_ += piece.literal;
        break;
      case FormatPiece::Kind::Operand:
        text_ += Values(op->Segment(piece.operand));
        break;
      case FormatPiece::Kind::Attribute:
        PrintAttribute(op, piece.key, false);
        break;
      case FormatPiece::Kind::Optional:
        if (!op->Segment(piece.operand).empty()) PrintPieces(op, piece.pieces);
        break;
    }
  }
}

void OpPrinter::PrintBraces(const Op* op) {
  std::string_view separator = " {";
  for (const Attr& attr : op->attrs()) {
    if (FormatNames(op->kind(), attr.key) || attr.value == DefaultOf(attr.key, FirstType(op)))
      continue;
    text_ += fmt::format("{}{}", separator, Spelling(attr.key));
    separator = ", ";
    if (FormOf(attr.key) == AttrForm::Flag && std::get<int64_t>(attr.value) == 1) continue;
    text_ += " = ";
    PrintAttribute(op, attr.key, true);
  }
  if (separator == ", ") text_ += "}";
}

std::string OpPrinter::Carried(std::span<Value* const> inits, const Region* region,
                               size_t first) const {
  std::string text;
  for (size_t i = 0; i < inits.size() && i + first < region->params().size(); ++i) {
    text += fmt::format("{}{} = {}", i == 0 ? " carry(" : ", ", ValueText(region->param(i + first)),
                        ValueText(inits[i]));
  }
  return text.empty() ? text : text + ")";
}

std::string OpPrinter::ParamText(const Op* op, size_t i) const {
  const Region* region = op->region();
  return i < region->params().size() ? ValueText(region->param(i)) : std::string("%?");
}

std::string OpPrinter::TypedParam(const Op* op, size_t i) const {
  const Region* region = op->region();
  bool has = i < region->params().size();
  return fmt::format("{}: {}", ParamText(op, i), has ? Type(region->param(i)->type()) : "?");
}

std::string OpPrinter::OperandText(const Op* op, size_t i) const {
  return i < op->operands().size() ? ValueText(op->operand(i)) : std::string("%?");
}

std::string OpPrinter::ForHead(const Op* op) const {
  return fmt::format(" {} in {} .. {}{}", TypedParam(op, 0), OperandText(op, 0), OperandText(op, 1),
                     Carried(op->Segment(ForOp::at_inits), op->region(), 1));
}

std::string OpPrinter::SplitHead(const Op* op) const {
  return fmt::format(" {} in {}", TypedParam(op, 0), OperandText(op, 0));
}

std::string OpPrinter::LoopHead(const Op* op) const {
  std::string step = OperandText(op, 2);
  return fmt::format(" {} in {} .. {}{}{}", ParamText(op, 0), OperandText(op, 0),
                     OperandText(op, 1), step == "1" ? "" : " step " + step,
                     Carried(op->Segment(LoopOp::at_inits), op->region(), 1));
}

std::string OpPrinter::WhileHead(const Op* op) const {
  return Carried(op->Segment(WhileOp::at_inits), op->region(), 0);
}

std::string OpPrinter::IfHead(const Op* op) const { return " " + OperandText(op, 0); }

std::string OpPrinter::SpmdHead(const Op* op) const {
  std::vector<std::string> binders;
  for (size_t i = 0; i < op->region()->params().size(); ++i) {
    binders.push_back(fmt::format("{} in {} .. {}", TypedParam(op, i), OperandText(op, 2 * i),
                                  OperandText(op, 2 * i + 1)));
  }
  return fmt::format(" ({})", fmt::join(binders, ", "));
}

std::string OpPrinter::ElementwiseLoopHead(const Op* op) const {
  return fmt::format(" ({})", Elements(op, op->operands().size(), 0));
}

std::string OpPrinter::FoldHead(const Op* op) const {
  std::span<Value* const> inits = op->Segment(MultiReduceOp::at_inits);
  return fmt::format("{} ({})", Carried(inits, op->region(), 0),
                     Elements(op, op->Segment(MultiReduceOp::at_values).size(), inits.size()));
}

std::string OpPrinter::Elements(const Op* op, size_t count, size_t first_param) const {
  std::vector<std::string> elements;
  for (size_t i = 0; i < count; ++i) {
    elements.push_back(fmt::format("{} in {}", ParamText(op, first_param + i), OperandText(op, i)));
  }
  return fmt::format("{}", fmt::join(elements, ", "));
}

std::string OpPrinter::NoHead(const Op*) const { return ""; }

void OpPrinter::PrintRegionHeader(const Op* op) {
  struct Row {
    OpKind kind;
    std::string (OpPrinter::*head)(const Op*) const;
  };
  static constexpr Row kRows[] = {
      {OpKind::For, &OpPrinter::ForHead},
      {OpKind::Loop, &OpPrinter::LoopHead},
      {OpKind::While, &OpPrinter::WhileHead},
      {OpKind::If, &OpPrinter::IfHead},
      {OpKind::Spmd, &OpPrinter::SpmdHead},
      {OpKind::Elementwise, &OpPrinter::ElementwiseLoopHead},
      {OpKind::MultiReduce, &OpPrinter::FoldHead},
      {OpKind::Scan, &OpPrinter::FoldHead},
      {OpKind::ScanInLoop, &OpPrinter::FoldHead},
      {OpKind::Split, &OpPrinter::SplitHead},
      {OpKind::Stage, &OpPrinter::NoHead},
  };
  static_assert(CoverOnce(kRows, [](const OpInfo& info) { return info.regions > 0; }),
                "each op with regions is printed");
  static constexpr auto kHeads = ByOp(kRows);
  text_ += (this->*kHeads[static_cast<size_t>(op->kind())].head)(op);
}

/// Returns the text of a location without the calls through which it was inlined.
std::string PlaceText(const Loc& loc) {
  return fmt::format("{}:{}:{}+{}", loc.file.empty() ? "" : Quoted(loc.file.text()), loc.line,
                     loc.column, loc.length);
}

std::string OpPrinter::LocText(const Loc& loc) const {
  if (!options_.locs || loc == Loc()) return "";
  std::string calls;
  for (const CallSite* call = loc.call; call; call = call->at.call)
    calls += fmt::format(" in {} at {}", Quoted(call->function.text()), PlaceText(call->at));
  return fmt::format(" loc({}{})", PlaceText(loc), calls);
}

void OpPrinter::PrintFirstLine(const Op* op) {
  if (!op->results().empty() && !names_.HasNoLine(op)) text_ += Values(op->results()) + " = ";
  text_ += op->info().spelling;
  if (!op->regions().empty()) {
    PrintRegionHeader(op);
  } else {
    size_t end = text_.size();
    PrintPieces(op, FormatOf(op->kind()));
    if (text_.size() > end && text_[end] != ' ') text_.insert(end, " ");
  }
  PrintBraces(op);
  if (op->regions().empty() && !op->results().empty()) text_ += " : " + Types(op->results());
  text_ += LocText(op->loc());
}

/// Returns whether the op is a `yield` that the text omits. If it is the only op of an `else`, the text omits
/// the whole `else`.
bool OpPrinter::IsImplied(const Op* op) const {
  return op->kind() == OpKind::Yield && op->operands().empty() && !options_.locs;
}

void OpPrinter::PrintOp(const Op* op, int depth) {
  std::string indent(static_cast<size_t>(depth) * 2, ' ');
  text_ += indent;
  PrintFirstLine(op);
  for (const Region* region : op->regions()) {
    bool is_else = region != op->region();
    if (is_else && region->first() && IsImplied(region->first())) continue;
    text_ += is_else ? " else {\n" : " {\n";
    PrintRegion(region, depth + 1);
    text_ += indent + "}";
  }
  if (!op->regions().empty() && !op->results().empty()) text_ += " : " + Types(op->results());
  text_ += "\n";
}

void OpPrinter::PrintRegion(const Region* region, int depth) {
  for (const Op* op : *region) {
    if (!IsImplied(op) && !names_.HasNoLine(op)) PrintOp(op, depth);
  }
}

std::string_view KindText(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Fn:
      return "fn";
    case FunctionKind::Kernel:
      return "kernel";
    case FunctionKind::Program:
      return "program";
    case FunctionKind::Contract:
      return "contract";
  }
  KDL_UNREACHABLE("unknown function kind {}", static_cast<int>(kind));
}

std::string_view DirectionText(Direction direction) {
  switch (direction) {
    case Direction::In:
      return " in";
    case Direction::Out:
      return " out";
    case Direction::InOut:
      return " inout";
  }
  KDL_UNREACHABLE("unknown parameter direction {}", static_cast<int>(direction));
}

std::string Numbers(const std::vector<int64_t>& numbers, std::string_view separator) {
  return Joined(numbers, separator, [](int64_t number) { return fmt::format("{}", number); });
}

std::string GenericText(const Generic& generic) {
  std::string text(generic.name.text());
  if (!generic.choices.empty()) text += " in {" + Numbers(generic.choices, ", ") + "}";
  std::string values = Numbers(generic.values, " | ");
  if (generic.is_auto) return text + (values.empty() ? " = auto" : " = auto(" + values + ")");
  return values.empty() ? text : text + " = " + values;
}

std::string AxisText(const Axis& axis, AxisId id, const FunctionNames& names) {
  std::string text = fmt::format("  axis {}", names.NameOf(id));
  if (axis.parent.valid()) text += fmt::format(" in {}", names.NameOf(axis.parent));
  if (axis.domain) text += " = " + ToString(axis.domain);
  if (axis.extent) text += " by " + ToString(axis.extent);
  if (axis.innermost) text += " innermost";
  return text + "\n";
}

std::string DocText(std::string_view doc) {
  std::string text;
  while (!doc.empty()) {
    std::string_view line = doc.substr(0, doc.find('\n'));
    text += line.empty() ? "///\n" : fmt::format("/// {}\n", line);
    doc.remove_prefix(std::min(line.size() + 1, doc.size()));
  }
  return text;
}

std::string HeaderText(const Function& function, const OpPrinter& printer,
                       const FunctionNames& names) {
  std::string text = fmt::format("{} @{}", KindText(function.kind), NameText(function.name.text()));
  auto group = [&](std::string_view word, const std::string& items) {
    if (!items.empty()) text += fmt::format(" {}({})", word, items);
  };
  group("types", Joined(function.bindings, ", ", [](const TypeBinding& binding) {
          return fmt::format("{} = {}", binding.name.text(), Spelling(binding.scalar));
        }));
  group("generics", Joined(function.generics, ", ", GenericText));
  group("dims", Joined(function.dims, ", ", [](Name dim) { return "%" + NameText(dim.text()); }));
  if (function.exported) text += " {export}";
  text += " (" +
          Joined(function.params, ", ",
                 [&](const Param& param) {
                   Type type = param.value->type();
                   bool directed = type->kind == TypeKind::Tensor || type->kind == TypeKind::Pipe ||
                                   param.direction != Direction::In;
                   return fmt::format("{}: {}{}", names.NameOf(param.value), TypeText(type, names),
                                      directed ? DirectionText(param.direction) : "");
                 }) +
          ")";
  if (!function.results.empty()) {
    text +=
        " -> " + Joined(function.results, ", ", [&](Type type) { return TypeText(type, names); });
  }
  return text + printer.LocText(function.loc);
}

}  // namespace

std::string Print(const Function& function, PrintOptions options) {
  FunctionNames names(function, options.locs          ? Inlined::Nothing
                                : options.expressions ? Inlined::Expressions
                                                      : Inlined::Constants);
  OpPrinter printer(names, options);
  std::string text = DocText(function.doc) + HeaderText(function, printer, names) + " {\n";
  if (function.workgroup != 1) text += fmt::format("  workgroup {}\n", function.workgroup);
  for (uint32_t i = 0; i < function.axes.size(); ++i) {
    text += AxisText(function.axes[i], AxisId(i), names);
  }
  for (const FunctionNames::SharedConstant& constant : names.shared_constants()) {
    text += fmt::format("  {} = const {} : {}\n", constant.name,
                        ConstantText(constant.scalar, constant.bits), Spelling(constant.scalar));
  }
  printer.PrintRegion(function.body, 1);
  return text + printer.text() + "}\n";
}

std::string Print(const Module& module, PrintOptions options) {
  std::string text;
  if (!module.name.empty()) text += fmt::format("module {}\n", Quoted(module.name.text()));
  if (!module.after.empty()) {
    text += fmt::format("after {}", Quoted(module.after));
    if (!module.target.empty()) text += fmt::format(" for {}", Quoted(module.target));
    text += "\n";
  }
  for (const Device& device : module.devices) {
    text += fmt::format("device @{}", NameText(device.name.text()));
    if (!device.spec.empty()) text += " = " + Quoted(device.spec);
    if (device.has_ranks) text += " ranks";
    if (!device.rank_shape.empty()) text += fmt::format("({})", fmt::join(device.rank_shape, ", "));
    text += "\n";
  }
  for (const Function* function : module.functions()) {
    if (!text.empty()) text += "\n";
    text += Print(*function, options);
  }
  return text;
}

std::string PrintLine(const Op& op) {
  const Function* function = op.parent_region() ? op.parent_region()->function() : nullptr;
  if (!function) return std::string(op.info().spelling);
  FunctionNames names(*function, Inlined::Constants);
  OpPrinter printer(names, {});
  printer.PrintFirstLine(&op);
  return printer.text();
}

std::string ToString(const Type& type, const Function& function) {
  return TypeText(type, FunctionNames(function, Inlined::Constants));
}

}  // namespace kdl::ir
