#include "passes/fusion/elementwise_chains.h"

#include <algorithm>
#include <map>

#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/fusion/producer.h"
#include "passes/rewriting/rewrite.h"

namespace kdl::passes {

namespace {

/// Returns whether the indices of a load or store are blocks of the loop, each at most once, or all of them are scalars.
bool IsPlainAccess(const Op* access, const Op* spmd) {
  const std::vector<Value*>& binders = spmd->region()->params();
  ir::Access indices = access->attr<AttrKey::Access>();
  std::vector<const Value*> blocks;
  size_t scalars = 0;
  for (const ir::AccessDim& dim : indices.dims) {
    bool is_scalar = std::ranges::all_of(dim.terms, [&](const ir::AccessTerm& term) {
      const Value* value = IndexOf(access)[term.operand];
      return value->type()->kind == ir::TypeKind::Tile && value->type()->axes.empty();
    });
    scalars += is_scalar ? 1 : 0;
    if (is_scalar) continue;
    const Value* block = IndexOf(access)[dim.terms[0].operand];
    bool is_block = dim.terms.size() == 1 && IsConstant(dim.terms[0].coefficient, 1) &&
                    IsConstant(dim.offset, 0) && Contains(binders, block) &&
                    !Contains(blocks, block);
    if (!is_block) return false;
    blocks.push_back(block);
  }
  return blocks.empty() || scalars == 0;
}

bool IsElementwise(const ir::Function& kernel) {
  Obstacle obstacle;
  std::optional<Producer> producer = ProducerOf(kernel, obstacle);
  if (!producer) return false;
  return !ir::AnyBelow(kernel.body, [&](const Op* op) {
    switch (op->kind()) {
      case OpKind::Spmd:
      case OpKind::Yield:
      case OpKind::Return:
      case OpKind::Require:
      case OpKind::Call:
      case OpKind::MakeBlock:
      case OpKind::Iota:
      case OpKind::Const:
        return false;
      case OpKind::Load:
      case OpKind::Store:
        return !IsPlainAccess(op, producer->spmd);
      default:
        return !op->info().has(ir::kElementwise);
    }
  });
}

bool HaveSameCores(const Op* a, const Op* b) {
  const Value* cores_a = ir::LaunchOp(const_cast<Op*>(a)).cores();
  const Value* cores_b = ir::LaunchOp(const_cast<Op*>(b)).cores();
  if (!cores_a || !cores_b || cores_a == cores_b) return cores_a == cores_b;
  return ConstantOf(cores_a) && ConstantOf(cores_a) == ConstantOf(cores_b);
}

class ChainFinder {
 public:
  explicit ChainFinder(const ir::Module& module) : module_(module) {}

  std::vector<std::vector<Op*>> Find(const ir::Region* body) {
    AddChains(body);
    std::erase_if(chains_, [](const std::vector<Op*>& chain) { return chain.size() < 2; });
    return chains_;
  }

 private:
  void AddChains(const ir::Region* region) {
    chains_.emplace_back();
    for (Op* op : *region) {
      for (const ir::Region* nested : op->regions()) AddChains(nested);
      if (!op->regions().empty()) chains_.emplace_back();
      bool is_aside = op->info().has(ir::kPure) || op->kind() == OpKind::Alloc;
      if (is_aside) continue;
      bool is_launch =
          op->kind() == OpKind::Launch && !op->HasAttr(AttrKey::Fuse) && IsElementwise(op);
      if (!is_launch || !Continues(op)) chains_.emplace_back();
      if (is_launch) chains_.back().push_back(op);
    }
    chains_.emplace_back();
  }

  bool Continues(const Op* launch) const {
    const std::vector<Op*>& chain = chains_.back();
    if (chain.empty()) return true;
    const Op* before = chain.back();
    return before->attr<AttrKey::Device>() == launch->attr<AttrKey::Device>() &&
           before->attr<AttrKey::Queue>() == launch->attr<AttrKey::Queue>() &&
           HaveSameCores(before, launch);
  }

  bool IsElementwise(const Op* launch) {
    const ir::Function* kernel = module_.FindFunction(launch->attr<AttrKey::Callee>());
    auto [known, is_new] = elementwise_.try_emplace(kernel, false);
    if (is_new) known->second = passes::IsElementwise(*kernel);
    return known->second;
  }

  const ir::Module& module_;
  std::vector<std::vector<Op*>> chains_;
  std::map<const ir::Function*, bool> elementwise_;
};

}  // namespace

std::vector<std::vector<Op*>> FindElementwiseChains(const ir::Module& module,
                                                    const ir::Function& program) {
  return ChainFinder(module).Find(program.body);
}

}  // namespace kdl::passes
