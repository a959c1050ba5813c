#include "ir/parse/untrusted.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/builder.h"
#include "ir/groups.h"
#include "ir/op_info.h"
#include "ir/requirement.h"
#include "ir/tensor_view.h"
#include "ir/value_size.h"
#include "ir/views.h"

namespace kdl::ir {

namespace {

bool HoldsElements(const Value* value) {
  TypeKind kind = value->type()->kind;
  return kind == TypeKind::TileBuffer || kind == TypeKind::Buffer || kind == TypeKind::Vector;
}

bool IsBelowTileLevel(const Op* op) {
  bool is_low_pipe = op->kind() == OpKind::Pipe && !op->operands().empty();
  return is_low_pipe || (op->info().places & ~kBelow) == 0 ||
         std::ranges::any_of(op->results(), HoldsElements);
}

/// The assumptions that ForgetAssumptions removes or checks. Text with any other assumption is rejected.
constexpr AttrKey kRestored[] = {AttrKey::BoundsMode, AttrKey::Leading, AttrKey::Domain,
                                 AttrKey::Scope};

std::optional<Assumed> AssumedBy(const Function* function, const Op* op) {
  using enum Assumed::What;
  if (IsBelowTileLevel(op)) return Assumed{BelowTileLevel, function, op};
  if (op->info().has(kPlans)) return Assumed{Plan, function, op};
  for (const Attr& attr : op->attrs()) {
    if (RoleOf(attr.key) == AttrRole::Assumption &&
        std::ranges::find(kRestored, attr.key) == std::end(kRestored))
      return Assumed{Attribute, function, op, attr.key};
  }
  return std::nullopt;
}

/// The text of each comparison, indexed by CompareKind.
constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};

Size SizeProduct(std::span<const Size> dims, SizeTable& sizes) {
  Size product = sizes.Constant(1);
  for (Size dim : dims) product = sizes.Binary(SizeKind::Mul, product, dim);
  return product;
}

/// Adds run-time checks to one function: the length of a block must be from 0 to the extent of its axis, and
/// each view must have as many elements as its operand.
class SizeChecks {
 public:
  SizeChecks(Module& module, Function& function) : module_(module), function_(function) {}

  void Limit(Op* block) {
    Size most = function_.axis(block->result()->type()->axes[0]).extent;
    Value* length = block->operand(1);
    Size size = SizeOfValue(function_, module_.types().sizes(), length);
    if (size == most || (size && IsConstant(size) && IsConstant(most) && 0 <= size->value &&
                         size->value <= most->value))
      return;
    Size none = module_.types().sizes().Constant(0);
    if (size && function_.kind == FunctionKind::Kernel) {
      if (MayBeNegative(function_, size)) RequireOnce(block, size, CompareKind::Ge, none);
      return RequireOnce(block, size, CompareKind::Le, most);
    }
    Builder builder(module_);
    builder.StandAt(block);
    Value* is_size = builder.Ge(length, builder.I64(0));
    Value* fits = builder.And(is_size, builder.Le(length, builder.SizeValue(most)));
    builder.Create(OpKind::Assert, {{fits}, {}}, {}, {MakeAttr<AttrKey::Text>(Text(block))});
  }

  void CheckView(const Op* view) {
    SizeTable& sizes = module_.types().sizes();
    auto [first, from, to] = ViewedDimsOf(view);
    auto part = [&](const Value* tensor, size_t count) {
      return std::span<const Size>(tensor->type()->dims).subspan(first, count);
    };
    for (Size dim : part(view->result(), to)) {
      if (MayBeNegative(function_, dim)) RequireOnce(view, dim, CompareKind::Ge, sizes.Constant(0));
    }
    Size shown = SizeProduct(part(view->operand(0), from), sizes);
    Size count = SizeProduct(part(view->result(), to), sizes);
    if (shown != count || MayDivideByZero(count)) RequireOnce(view, shown, CompareKind::Eq, count);
  }

 private:
  Name Text(const Op* block) const {
    const Axis& axis = function_.axis(block->result()->type()->axes[0]);
    return module_.context().names.Intern(
        fmt::format("a block of {} has 0 to {} elements", axis.name.text(), ToString(axis.extent)));
  }

  /// Adds a `require` op at the start of a kernel, or before `at` in a program, unless an equal `require`
  /// comes earlier.
  void RequireOnce(const Op* at, Size left, CompareKind compare, Size right) {
    bool is_kernel = function_.kind == FunctionKind::Kernel;
    const Op* first = is_kernel ? function_.body->first() : at->parent_region()->first();
    for (const Op* op = first; op && op != at; op = op->next()) {
      bool is_this = op->kind() == OpKind::Require && op->attr<AttrKey::Compare>() == compare &&
                     op->attr<AttrKey::Left>() == left && op->attr<AttrKey::Right>() == right;
      if (is_this) return;
    }
    Builder builder(module_);
    builder.SetInsertionPoint(is_kernel ? function_.body->first() : const_cast<Op*>(at));
    builder.set_loc(at->loc());
    std::string text = fmt::format("{} {} {}", ToString(left), kSigns[static_cast<size_t>(compare)],
                                   ToString(right));
    builder.Create(OpKind::Require, {}, {},
                   {MakeAttr<AttrKey::Left>(left), MakeAttr<AttrKey::Compare>(compare),
                    MakeAttr<AttrKey::Right>(right),
                    MakeAttr<AttrKey::Text>(module_.context().names.Intern(text))});
  }

  Module& module_;
  Function& function_;
};

/// Sets the text that messages quote for an access, if the access has no source text.
void NameAccess(Op* op, Names& names) {
  std::string_view tensor =
      op->operand(op->kind() == OpKind::Load || op->kind() == OpKind::Gather ? 0 : 1)
          ->name()
          .text();
  std::string text = tensor.empty() ? "an access" : fmt::format("{}[…]", tensor);
  op->SetAttr(MakeAttr<AttrKey::Text>(names.Intern(text)));
}

/// Returns whether both values are certain to be equal, because they are computed by equal pure ops from
/// equal values.
bool IsAlike(const Value* a, const Value* b, int depth = 0) {
  constexpr int kDeepest = 8;
  if (a == b) return true;
  const Op* of_a = a->def();
  const Op* of_b = b->def();
  if (!of_a || !of_b || depth == kDeepest || of_a->kind() != of_b->kind() ||
      a->type() != b->type() || !of_a->info().has(kPure) || of_a->attrs() != of_b->attrs() ||
      of_a->operands().size() != of_b->operands().size() || a->index() != b->index())
    return false;
  for (size_t i = 0; i < of_a->operands().size(); ++i) {
    if (!IsAlike(of_a->operand(i), of_b->operand(i), depth + 1)) return false;
  }
  return true;
}

/// Returns whether both loops execute the same blocks in the same order, and run each block on the same core.
/// The loops must have the same number of loop variables, which the verifier has checked.
bool WalkAlike(const Function& function, const Op* a, const Op* b) {
  auto distribute = a->attr<AttrKey::Distribute>();
  if (!AreDistributedAlike(a, b) || distribute == DistributionKind::Dynamic) return false;
  for (size_t i = 0; i < a->operands().size(); ++i) {
    if (!IsAlike(a->operand(i), b->operand(i))) return false;
  }
  for (size_t i = 0; i < a->region()->params().size(); ++i) {
    Type of_a = a->region()->param(i)->type();
    Type of_b = b->region()->param(i)->type();
    bool blocks = of_a->kind == TypeKind::Block;
    if (blocks && function.axis(of_a->axes[0]).extent != function.axis(of_b->axes[0]).extent)
      return false;
  }
  return true;
}

void ForgetUnlikeDomains(Function& function) {
  std::map<Name, std::vector<Op*>> loops;
  Walk(function.body, [&](Op* op) {
    if (op->HasAttr(AttrKey::Domain)) loops[op->attr<AttrKey::Domain>()].push_back(op);
  });
  for (auto& [domain, walks] : loops) {
    bool alike = std::ranges::all_of(
        walks, [&](const Op* walk) { return WalkAlike(function, walks[0], walk); });
    if (alike) continue;
    for (Op* walk : walks) walk->RemoveAttr(AttrKey::Domain);
  }
}

/// Creates an op, at the insertion point, that sets all elements of the tensor to zero.
void FillWithZeros(Builder& b, Value* tensor) {
  Value* zero = b.Bits(tensor->type()->scalar, 0);
  b.Create(OpKind::Fill, {{tensor}, {zero}, {}}, {b.types().Event()},
           {MakeAttr<AttrKey::Device>(Name()), MakeAttr<AttrKey::Queue>(0)});
}

/// Initializes allocated and returned tensors with zeros, because an untrusted program may not write all
/// elements that it reads or returns.
void DefineElements(Module& module, Function& program) {
  std::vector<Op*> allocations;
  Walk(program.body, [&](Op* op) {
    if (op->kind() == OpKind::Alloc) allocations.push_back(op);
  });
  Builder b(module);
  for (Op* alloc : allocations) {
    b.SetInsertionPoint(alloc->parent_region(), alloc->next());
    b.set_loc(alloc->loc());
    FillWithZeros(b, alloc->result());
  }
  b.SetInsertionPoint(program.body->first());
  for (const Param& param : program.params) {
    if (param.direction == Direction::Out) FillWithZeros(b, param.value);
  }
}

void Guard(Op* op) {
  if (op->HasAttr(AttrKey::BoundsMode) && op->attr<AttrKey::BoundsMode>() != BoundsMode::Else)
    op->SetAttr(MakeAttr<AttrKey::BoundsMode>(BoundsMode::Guard));
  if (op->HasAttr(AttrKey::Leading)) op->SetAttr(MakeAttr<AttrKey::Leading>(0));
  bool is_alone = op->HasAttr(AttrKey::Scope) && op->attr<AttrKey::Scope>() == ScopeKind::Core;
  if (is_alone) op->SetAttr(MakeAttr<AttrKey::Scope>(ScopeKind::Launch));
}

}  // namespace

std::vector<Assumed> FindAssumptions(const Module& module) {
  std::vector<Assumed> found;
  for (const Function* function : module.functions()) {
    std::optional<Assumed> first;
    if (function->workgroup != 1) first = Assumed{Assumed::What::Workgroup, function};
    Walk(function->body, [&](const Op* op) {
      if (!first) first = AssumedBy(function, op);
    });
    if (first) found.push_back(*first);
  }
  return found;
}

void NameGuards(Module& module) {
  for (Function* function : module.functions()) {
    Walk(function->body, [&](Op* op) {
      bool guards =
          op->HasAttr(AttrKey::BoundsMode) && op->attr<AttrKey::BoundsMode>() == BoundsMode::Guard;
      if (guards && !op->HasAttr(AttrKey::Text)) NameAccess(op, module.context().names);
    });
  }
}

void ForgetAssumptions(Module& module) {
  for (Function* function : module.functions()) {
    std::vector<Op*> blocks;
    std::vector<Op*> views;
    Walk(function->body, [&](Op* op) {
      Guard(op);
      if (op->kind() == OpKind::MakeBlock) blocks.push_back(op);
      if (op->kind() == OpKind::View) views.push_back(op);
    });
    for (Axis& axis : function->axes) axis.domain = nullptr;
    ForgetUnlikeDomains(*function);
    if (function->kind == FunctionKind::Program) DefineElements(module, *function);
    SizeChecks checks(module, *function);
    for (Op* block : blocks) checks.Limit(block);
    for (const Op* view : views) checks.CheckView(view);
  }
}

}  // namespace kdl::ir
