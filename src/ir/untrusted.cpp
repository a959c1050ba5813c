#include "ir/untrusted.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/builder.h"
#include "ir/requirement.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

bool HoldsElements(const Value* value) {
  TypeKind kind = value->type()->kind;
  return kind == TypeKind::Home || kind == TypeKind::Buffer || kind == TypeKind::Vector;
}

bool IsBelowTileLevel(const Op* op) {
  bool is_low_pipe =
      op->kind() == OpKind::Pipe && (op->HasAttr(AttrKey::Slot) || !op->operands().empty());
  return is_low_pipe || (op->info().places & ~kBelow) == 0 ||
         std::ranges::any_of(op->results(), HoldsElements);
}

/// What a value is in terms of size names, where it is made of nothing else.
Size SizeOfValue(const Function& function, const Value* value, SizeTable& sizes) {
  static constexpr std::pair<OpKind, SizeKind> kKinds[] = {
      {OpKind::Add, SizeKind::Add}, {OpKind::Sub, SizeKind::Sub},
      {OpKind::Mul, SizeKind::Mul}, {OpKind::Div, SizeKind::FloorDiv},
      {OpKind::Rem, SizeKind::Mod}, {OpKind::Min, SizeKind::Min}};
  if (const Op* def = value->def()) {
    if (def->kind() == OpKind::SizeOf) return def->attr<AttrKey::Size>();
    if (def->kind() == OpKind::Const)
      return sizes.Constant(static_cast<int64_t>(def->attr<AttrKey::Bits>()));
    auto found = std::ranges::find(kKinds, def->kind(), &std::pair<OpKind, SizeKind>::first);
    if (found == std::end(kKinds)) return nullptr;
    Size lhs = SizeOfValue(function, def->operand(0), sizes);
    Size rhs = lhs ? SizeOfValue(function, def->operand(1), sizes) : nullptr;
    return rhs ? sizes.Binary(found->second, lhs, rhs) : nullptr;
  }
  for (size_t i = 0; i < function.dims.size(); ++i) {
    if (function.dim_value(i) == value) return sizes.Symbol(function.dims[i]);
  }
  return nullptr;
}

/// Checks the lengths of the blocks of one function.
class BlockLimits {
 public:
  BlockLimits(Module& module, Function& function) : module_(module), function_(function) {}

  void Limit(Op* blk) {
    Size most = function_.axis(blk->result()->type()->axes[0]).extent;
    Value* length = blk->operand(1);
    Size size = SizeOfValue(function_, length, module_.types().sizes());
    if (size == most ||
        (size && IsConstant(size) && IsConstant(most) && size->value <= most->value))
      return;
    if (size && function_.kind == FunctionKind::Kernel) return RequireOnce(blk, size, most);
    Builder builder(module_);
    builder.SetInsertionPoint(blk);
    builder.set_loc(blk->loc());
    Value* fits = builder.Binary(OpKind::Le, length, builder.SizeValue(most));
    builder.Create(OpKind::Assert, {{fits}, {}}, {}, {MakeAttr<AttrKey::Text>(Text(blk))});
  }

 private:
  Name Text(const Op* blk) const {
    const Axis& axis = function_.axis(blk->result()->type()->axes[0]);
    return module_.context().names.Intern(
        fmt::format("a block of {} is no longer than {}", axis.name.text(), ToString(axis.extent)));
  }

  void RequireOnce(const Op* blk, Size size, Size most) {
    for (const Op* op : RequirementsOf(function_)) {
      bool is_this = op->attr<AttrKey::Compare>() == CompareKind::Le &&
                     op->attr<AttrKey::Left>() == size && op->attr<AttrKey::Right>() == most;
      if (is_this) return;
    }
    Builder builder(module_);
    builder.SetInsertionPoint(function_.body, function_.body->first());
    builder.set_loc(blk->loc());
    std::string text = fmt::format("{} <= {}", ToString(size), ToString(most));
    builder.Create(OpKind::Require, {}, {},
                   {MakeAttr<AttrKey::Left>(size), MakeAttr<AttrKey::Compare>(CompareKind::Le),
                    MakeAttr<AttrKey::Right>(most),
                    MakeAttr<AttrKey::Text>(module_.context().names.Intern(text))});
  }

  Module& module_;
  Function& function_;
};

/// Its text, for messages, where it comes from no source.
void NameAccess(Op* op, Names& names) {
  std::string_view tensor =
      op->operand(op->kind() == OpKind::Load || op->kind() == OpKind::Take ? 0 : 1)->name().text();
  std::string text = tensor.empty() ? "an access" : fmt::format("{}[…]", tensor);
  op->SetAttr(MakeAttr<AttrKey::Text>(names.Intern(text)));
}

void Guard(Op* op) {
  if (op->HasAttr(AttrKey::Edge) && op->attr<AttrKey::Edge>() != EdgeKind::Else)
    op->SetAttr(MakeAttr<AttrKey::Edge>(EdgeKind::Guard));
  if (op->HasAttr(AttrKey::Leading)) op->SetAttr(MakeAttr<AttrKey::Leading>(0));
}

}  // namespace

std::vector<const Op*> OpsBelowTileLevel(const Module& module) {
  std::vector<const Op*> found;
  for (const Function* function : module.functions()) {
    const Op* first = nullptr;
    Walk(function->body, [&](const Op* op) {
      if (!first && IsBelowTileLevel(op)) first = op;
    });
    if (first) found.push_back(first);
  }
  return found;
}

void NameGuards(Module& module) {
  for (Function* function : module.functions()) {
    Walk(function->body, [&](Op* op) {
      bool guards = op->HasAttr(AttrKey::Edge) && op->attr<AttrKey::Edge>() == EdgeKind::Guard;
      if (guards && !op->HasAttr(AttrKey::Text)) NameAccess(op, module.context().names);
    });
  }
}

void ForgetClaims(Module& module) {
  for (Function* function : module.functions()) {
    std::vector<Op*> blocks;
    Walk(function->body, [&](Op* op) {
      Guard(op);
      if (op->kind() == OpKind::MakeBlk) blocks.push_back(op);
    });
    BlockLimits limits(module, *function);
    for (Op* blk : blocks) limits.Limit(blk);
  }
}

}  // namespace kdl::ir
