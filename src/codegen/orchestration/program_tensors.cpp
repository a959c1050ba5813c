#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

// The tensors of a program: its own, parts and views, and their sizes.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void ProgramPrinter::PrintAlloc(const Op* op) {
  ir::Type type = op->result()->type();
  kdl::Name name = op->attr<AttrKey::Name>();
  const std::string& variable = NameOf(op->result(), name.text());
  writer_.List(fmt::format("kdl::Tensor {} = {}.Allocate({}, {}, {{", variable, own_.context,
                           devices_.at(op->attr<AttrKey::Device>()), ElementText(type->scalar)),
               SizeTexts(type, op->loc()),
               fmt::format("}}, {}, {});", Quoted(name.text()), FailurePlace(op)));
}

void ProgramPrinter::PrintView(const Op* op) {
  ir::ViewedDims dims = ir::ViewedDimsOf(op);
  std::vector<std::string> texts = SizeTexts(op->result()->type(), op->loc());
  auto first = texts.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  std::vector<std::string> sizes(first, first + static_cast<std::ptrdiff_t>(dims.to));
  std::vector<std::string> items = {fmt::format("{}", dims.dimension),
                                    fmt::format("{}", dims.from)};
  AddBraced(items, sizes);
  items.push_back(FailurePlace(op));
  items.push_back(Quoted(op->result()->name().text()));
  items.push_back(Quoted(ir::ViewedName(op)));
  const std::string& tensor = variables_.at(op->operand(0));
  part_variables_.insert(op->result());
  const std::string& name = NameOf(op->result(), Wanted(op->result(), "view"));
  writer_.List(fmt::format("kdl::Tensor {} = {}.View(", name, tensor), items, ");");
}

bool ProgramPrinter::IsPart(const Value* tensor) {
  return tensor->def() &&
         (tensor->def()->kind() == OpKind::Slice || tensor->def()->kind() == OpKind::View);
}

bool ProgramPrinter::MayStandInPlace(const Value* part) {
  bool once = false;
  for (const ir::Use& use : part->uses()) {
    if (use.user->kind() == OpKind::Free) continue;
    bool is_other = use.user->block() != part->def()->block();
    if (once || is_other || use.user->kind() == OpKind::Transfer) return false;
    once = true;
  }
  return once && part->name().empty();
}

void ProgramPrinter::PrintSlice(const Op* op) {
  ir::SliceOp slice(const_cast<Op*>(op));
  std::vector<std::string> items = {fmt::format("{}", op->attr<AttrKey::Dimension>()),
                                    Unwrapped(Text(slice.lo(), LiteralStyle::Plain))};
  if (slice.hi()) items.push_back(Unwrapped(Text(slice.hi(), LiteralStyle::Plain)));
  items.push_back(FailurePlace(op));
  items.push_back(Quoted(op->attr<AttrKey::Text>().text()));
  std::string call =
      fmt::format("{}.{}(", variables_.at(slice.tensor()), slice.hi() ? "Part" : "At");
  std::string text = fmt::format("{}{})", call, fmt::join(items, ", "));
  constexpr size_t kLongest = 70;  // else one cannot see what a launch is given
  if (MayStandInPlace(op->result()) && text.size() <= kLongest) {
    variables_[op->result()] = text;
    return;
  }
  part_variables_.insert(op->result());
  std::string wanted = std::string(ir::MemoryOf(slice.tensor())->name().text()) + "_part";
  const std::string& name = NameOf(op->result(), Wanted(op->result(), wanted));
  writer_.List(fmt::format("kdl::Tensor {} = {}", name, call), items, ");");
}

namespace {

bool Mentions(Size size, Name name) {
  if (size->kind == SizeKind::Symbol) return size->symbol == name;
  return size->lhs && (Mentions(size->lhs, name) || Mentions(size->rhs, name));
}

}  // namespace

bool ProgramPrinter::IsAskedFor(Name size) const {
  bool found = false;
  ir::Walk(function_.body, [&](const Op* op) {
    std::vector<Size> sizes;
    if (op->kind() == OpKind::Alloc) sizes = op->result()->type()->dims;
    if (op->kind() == OpKind::Require)
      sizes = {op->attr<AttrKey::Left>(), op->attr<AttrKey::Right>()};
    found = found || std::ranges::any_of(sizes, [&](Size s) { return Mentions(s, size); });
  });
  return found;
}

/// The size is the variable from here on.
void ProgramPrinter::PrintBindSize(const Op* op) {
  Name size = op->attr<AttrKey::Name>();
  const std::string& name = NameOf(op->result(), size.text());
  dims_[size] = name;
  writer_.Line(
      fmt::format("{}const std::int64_t {} = {};{}",
                  needs_.Uses(op->result()) > 0 || IsAskedFor(size) ? "" : "[[maybe_unused]] ",
                  name, Unwrapped(Text(op->operand(0), LiteralStyle::Typed)), Place(op)));
}

}  // namespace kdl::codegen
