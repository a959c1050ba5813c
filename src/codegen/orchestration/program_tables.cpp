#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/views.h"
#include "support/check.h"

// Prints the tables of the `fn`s that programs call, and the loads of their elements. A table is an array in the function. After an
// index that is out of bounds, the function continues with another element.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::Value;

namespace {

int64_t NumberOf(Size size) {
  KDL_CHECK(IsConstant(size), "a table in a fn has an index with the size {}", ToString(size));
  return size->value;
}

}  // namespace

void ProgramPrinter::PrintTable(const Op* op) {
  Scalar scalar = op->result()->type()->scalar;
  std::vector<std::string> elements;
  for (uint64_t bits : op->attr<AttrKey::Elements>())
    elements.push_back(syntax_->Literal(scalar, bits, LiteralStyle::Typed));
  const std::string& name = NewVariable(op->result(), op->result()->name().text());
  writer_.List(fmt::format("const {} {}[] = {{", syntax_->Type(scalar), name), elements, "};");
}

/// Returns the index into a dimension.
std::string ProgramPrinter::TableIndex(const Op* op, const ir::AccessDim& dim) {
  constexpr Operator kAdd = {"Add", "add", ""};
  constexpr Operator kMul = {"Mul", "mul", ""};
  auto literal = [&](Size number) {
    return syntax_->Literal(Scalar::I64, static_cast<uint64_t>(NumberOf(number)),
                            LiteralStyle::Plain);
  };
  auto apply = [&](const Operator& symbol, const std::string& a, const std::string& b) {
    return syntax_->Apply(symbol, Scalar::I64, {a, b}, "");
  };
  std::string sum;
  auto add = [&](const std::string& text) { sum = sum.empty() ? text : apply(kAdd, sum, text); };
  for (const ir::AccessTerm& term : dim.terms) {
    const Value* index = ir::LoadOp(const_cast<Op*>(op)).index()[term.operand];
    std::string text = Text(index, LiteralStyle::Typed);
    if (index->type()->scalar != Scalar::I64)
      text = syntax_->Cast(Scalar::I64, index->type()->scalar, text);
    add(IsConstant(term.coefficient, 1) ? text : apply(kMul, text, literal(term.coefficient)));
  }
  if (sum.empty() || !IsConstant(dim.offset, 0)) add(literal(dim.offset));
  return Unwrapped(sum);
}

void ProgramPrinter::PrintTableLoad(const Op* op) {
  ir::LoadOp load(const_cast<Op*>(op));
  Scalar scalar = op->result()->type()->scalar;
  const ir::Access access = op->attr<AttrKey::Access>();
  std::vector<std::string> inside;
  std::string place = "0";
  for (size_t d = 0; d < access.dims.size(); ++d) {
    std::string index = names_.Pick(variables_.at(load.tensor()) + "_index");
    syntax_->Constant(writer_, Scalar::I64, index, TableIndex(op, access.dims[d]), true, Place(op));
    int64_t length = NumberOf(load.tensor()->type()->dims[d]);
    inside.push_back(fmt::format("{0} >= 0 && {0} < {1}", index, length));
    place = d == 0 ? index : fmt::format("({}) * {} + {}", place, length, index);
  }
  std::string is_inside = fmt::format("({})", fmt::join(inside, " && "));
  std::string mask = load.mask() ? Text(load.mask(), LiteralStyle::Typed) : "";
  if (op->attr<AttrKey::BoundsMode>() == ir::BoundsMode::Guard) {
    Call call{Request::Assert, "", {}};
    call.items = {
        mask.empty() ? is_inside : fmt::format("!{} || {}", mask, is_inside), FailurePlace(op),
        Quoted(fmt::format("the index in '{}' is inside", op->attr<AttrKey::Text>().text()))};
    syntax_->Print(writer_, call, {}, "");
  }
  std::string other = load.otherwise() ? Text(load.otherwise(), LiteralStyle::Typed)
                                       : syntax_->Literal(scalar, 0, LiteralStyle::Typed);
  std::string exists = mask.empty() ? is_inside : fmt::format("({} && {})", mask, is_inside);
  std::string element =
      fmt::format("{} ? {}[{}] : {}", exists, variables_.at(load.tensor()), place, other);
  const std::string& name =
      NewVariable(op->result(), Wanted(op->result(), variables_.at(load.tensor()) + "_element"));
  syntax_->Constant(writer_, scalar, name, element, needs_.Uses(op->result()) > 0, Place(op));
}

}  // namespace kdl::codegen
