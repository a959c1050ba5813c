#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/orchestration/program_printer.h"
#include "ir/tensor_view.h"
#include "ir/views.h"

// Prints the tensors of a program: those that it allocates, parts and views of tensors, and their sizes.

namespace kdl::codegen {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void ProgramPrinter::PrintAlloc(const Op* op) {
  ir::Type type = op->result()->type();
  kdl::Name name = op->attr<AttrKey::Name>();
  Given given;
  given.tensor = NewVariable(op->result(), name.text());
  Call call{Request::Allocate, "", {}};
  call.items = {devices_.at(op->attr<AttrKey::Device>()),
                syntax_->Element(type->scalar),
                {Item::Kind::Sizes, SizeTexts(type, op->loc())},
                Quoted(name.text()),
                FailurePlace(op)};
  syntax_->Print(writer_, call, given, "");
  Own(Owned::Kind::Tensor, given.tensor);
  if (!op->HasAttr(AttrKey::RankAxes)) return;
  auto texts = [](const ir::NumberList& numbers) {
    std::vector<std::string> printed;
    for (int64_t number : numbers) printed.push_back(fmt::format("{}", number));
    return Item(Item::Kind::Sizes, std::move(printed));
  };
  const bool has_blocks = op->HasAttr(AttrKey::RankBlocks);
  Call distribute{has_blocks ? Request::DistributeBlocks : Request::Distribute, RanksOf(op), {}};
  distribute.items = {TensorText(op->result()), texts(op->attr<AttrKey::RankAxes>())};
  if (has_blocks) distribute.items.push_back(texts(op->attr<AttrKey::RankBlocks>()));
  syntax_->Print(writer_, distribute, {}, "");
}

void ProgramPrinter::PrintView(const Op* op) {
  ir::ViewedDims dims = ir::ViewedDimsOf(op);
  std::vector<std::string> texts = SizeTexts(op->result()->type(), op->loc());
  auto first = texts.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  std::vector<std::string> sizes(first, first + static_cast<std::ptrdiff_t>(dims.to));
  Call call{Request::View, TensorText(op->operand(0)), {}};
  call.items = {fmt::format("{}", dims.dimension),     fmt::format("{}", dims.from),
                {Item::Kind::Sizes, std::move(sizes)}, FailurePlace(op),
                Quoted(op->result()->name().text()),   Quoted(ir::ViewedName(op))};
  part_variables_.insert(op->result());
  Given given;
  given.tensor = NewVariable(op->result(), Wanted(op->result(), "view"));
  syntax_->Print(writer_, call, given, "");
  Own(Owned::Kind::Tensor, given.tensor);
}

bool ProgramPrinter::IsPart(const Value* tensor) {
  return tensor->def() &&
         (tensor->def()->kind() == OpKind::Slice || tensor->def()->kind() == OpKind::View);
}

bool ProgramPrinter::MayStandInPlace(const Value* part) {
  bool once = false;
  for (const ir::Use& use : part->uses()) {
    if (use.user->kind() == OpKind::Free) continue;
    bool is_other = use.user->parent_region() != part->def()->parent_region();
    if (once || is_other || use.user->kind() == OpKind::Transfer) return false;
    once = true;
  }
  return once && part->name().empty();
}

namespace {

std::string PartName(const Value* part) {
  return std::string(ir::MemoryOf(part)->name().text()) + "_part";
}

}  // namespace

std::string ProgramPrinter::CalledAfter(const Value* tensor) const {
  bool is_in_place = IsPart(tensor) && !part_variables_.contains(tensor);
  return is_in_place ? PartName(tensor) : variables_.at(tensor);
}

void ProgramPrinter::PrintSlice(const Op* op) {
  ir::SliceOp slice(const_cast<Op*>(op));
  Call call{slice.hi() ? Request::Part : Request::At, TensorText(slice.tensor()), {}};
  call.items = {fmt::format("{}", op->attr<AttrKey::Dimension>()),
                Unwrapped(Text(slice.lo(), LiteralStyle::Plain))};
  if (slice.hi()) call.items.emplace_back(Unwrapped(Text(slice.hi(), LiteralStyle::Plain)));
  call.items.emplace_back(FailurePlace(op));
  call.items.emplace_back(Quoted(op->attr<AttrKey::Text>().text()));
  constexpr size_t kLongest = 70;  // a longer text would make a launch hard to read
  if (syntax_->MayNest() && MayStandInPlace(op->result())) {
    std::string text = syntax_->Text(call);
    if (text.size() <= kLongest) {
      variables_[op->result()] = std::move(text);
      return;
    }
  }
  part_variables_.insert(op->result());
  Given given;
  given.tensor = NewVariable(op->result(), Wanted(op->result(), PartName(op->result())));
  syntax_->Print(writer_, call, given, "");
  Own(Owned::Kind::Tensor, given.tensor);
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

/// Sizes are known before the statements, so only a computed one needs a variable.
void ProgramPrinter::PrintSizeOf(const Op* op) {
  Size size = op->attr<AttrKey::Size>();
  std::string text =
      SizeExpression(size, [this](Name dim) { return dims_.at(dim); }, op->loc(), *syntax_);
  if (IsConstant(size) || size->kind == SizeKind::Symbol) {
    variables_[op->result()] = text;
    return;
  }
  const std::string& name = NewVariable(op->result(), Wanted(op->result(), "size"));
  syntax_->Constant(writer_, Scalar::I64, name, text, true, Place(op));
}

/// Prints a size that the source binds to a variable. From here on, the variable is printed wherever the size
/// occurs.
void ProgramPrinter::PrintBindSize(const Op* op) {
  Name size = op->attr<AttrKey::Name>();
  const std::string& name = NewVariable(op->result(), size.text());
  dims_[size] = name;
  syntax_->Constant(writer_, Scalar::I64, name,
                    Unwrapped(Text(op->operand(0), LiteralStyle::Typed)),
                    needs_.Uses(op->result()) > 0 || IsAskedFor(size), Place(op));
}

}  // namespace kdl::codegen
