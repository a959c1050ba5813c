#include "passes/analysis/execution_counts.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"
#include "passes/names.h"

namespace kdl::passes {

namespace {

constexpr int64_t kUnknownSize = 1024;
// The number of iterations of a loop whose bounds depend on data.
constexpr double kUnknownIterations = 16;
// The share of iterations in which a condition is true that depends on data.
constexpr double kUnknownCondition = 0.5;
// The share of iterations that run a branch that is not taken at the estimated sizes.
constexpr double kRareBranch = 0.01;

/// Estimates scalars as they are in the first iteration of each loop, on core 0 of 1.
class Estimates {
 public:
  std::optional<int64_t> Number(const Value* value) {
    auto known = known_.find(value);
    if (known != known_.end()) return known->second;
    std::optional<int64_t> number = Find(value);
    known_[value] = number;
    return number;
  }

  int64_t BlockSize(const Value* block) {
    const Op* def = block->def();
    if (def && def->kind() == OpKind::MakeBlock) {
      if (auto size = Number(def->operand(ir::MakeBlockOp::at_size)))
        return std::max<int64_t>(*size, 0);
    }
    const ir::Function* function = FunctionOf(block);
    Size extent = function ? function->axis(block->type()->axes[0]).extent : nullptr;
    int64_t most = extent ? SizeNumber(extent).value_or(kUnknownSize) : kUnknownSize;
    const Op* parent = def ? nullptr : block->parent_region()->parent();
    if (parent && parent->kind() == OpKind::Split)
      return std::min(most, BlockSize(parent->operand(0)));
    return std::min(most, kUnknownSize);
  }

  /// Returns the number of times that the region of `op` runs each time that the op does.
  double Iterations(const Op* op, const ir::Region* region) {
    switch (op->kind()) {
      case OpKind::Loop:
        return LoopIterations(op);
      case OpKind::Split: {
        auto whole = static_cast<double>(BlockSize(op->operand(0)));
        return std::max(1.0, whole / static_cast<double>(BlockSize(region->param(0))));
      }
      case OpKind::Elementwise:
        return Points(op);
      case OpKind::While:
        return kUnknownIterations;
      case OpKind::If:
        return BranchShare(op, region);
      default:
        return 1;
    }
  }

  double Points(const Op* elementwise) {
    double points = 1;
    for (const Value* block : elementwise->operands())
      points *= static_cast<double>(BlockSize(block));
    return points;
  }

 private:
  static const ir::Function* FunctionOf(const Value* value) {
    const ir::Region* region =
        value->def() ? value->def()->parent_region() : value->parent_region();
    while (region->parent()) region = region->parent()->parent_region();
    return region->function();
  }

  static std::optional<int64_t> SizeNumber(Size size) {
    return Evaluate(size, [](Name) { return std::optional(kUnknownSize); });
  }

  std::optional<int64_t> Find(const Value* value) {
    if (!ir::IsScalar(value->type())) return std::nullopt;
    const Op* def = value->def();
    if (!def) return FindParam(value);
    switch (def->kind()) {
      case OpKind::Const:
        return ir::Extended(value->type()->scalar, def->attr<AttrKey::Bits>());
      case OpKind::SizeOf:
        return SizeNumber(def->attr<AttrKey::Size>());
      case OpKind::CoreId:
        return 0;
      case OpKind::CoreNum:
        return 1;
      case OpKind::BlockSize:
        return BlockSize(def->operand(0));
      case OpKind::BlockStart:
      case OpKind::BlockIndex:
        return BlockFact(def);
      default:
        return FindComputed(value, def);
    }
  }

  /// Returns the estimate for a size, a scalar parameter of the kernel, or the index of a loop.
  std::optional<int64_t> FindParam(const Value* value) {
    const ir::Region* region = value->parent_region();
    if (!region) return std::nullopt;
    if (!region->parent()) {
      bool is_size = value->type()->scalar == Scalar::I64;
      return is_size ? std::optional(kUnknownSize) : std::nullopt;
    }
    bool is_index = region->parent()->kind() == OpKind::Loop && value->index() == 0;
    return is_index ? Number(region->parent()->operand(0)) : std::nullopt;
  }

  std::optional<int64_t> BlockFact(const Op* fact) {
    const Op* made = fact->operand(0)->def();
    if (!made || made->kind() != OpKind::MakeBlock) return 0;
    bool is_start = fact->kind() == OpKind::BlockStart;
    return Number(made->operand(is_start ? ir::MakeBlockOp::at_start : ir::MakeBlockOp::at_index));
  }

  std::optional<int64_t> FindComputed(const Value* value, const Op* def) {
    if (!def->info().is_computed() || def->results().size() != 1 || def->operands().empty())
      return std::nullopt;
    std::vector<uint64_t> operands;
    for (const Value* operand : def->operands()) {
      std::optional<int64_t> number = Number(operand);
      if (!number) return std::nullopt;
      operands.push_back(static_cast<uint64_t>(*number));
    }
    auto bits = ir::Evaluate(def->kind(), def->operands().back()->type()->scalar,
                             value->type()->scalar, operands.data());
    return bits ? std::optional(ir::Extended(value->type()->scalar, *bits)) : std::nullopt;
  }

  double LoopIterations(const Op* op) {
    ir::LoopOp loop(const_cast<Op*>(op));
    auto lo = Number(loop.lo());
    auto hi = Number(loop.hi());
    auto step = Number(loop.step());
    if (!lo || !hi || !step || *step < 1) return kUnknownIterations;
    return std::max(0.0, static_cast<double>(*hi - *lo) / static_cast<double>(*step));
  }

  double BranchShare(const Op* op, const ir::Region* region) {
    std::optional<int64_t> condition = Number(op->operand(0));
    if (!condition) return kUnknownCondition;
    bool is_taken = (region == op->region(0)) == (*condition != 0);
    return is_taken ? 1 : kRareBranch;
  }

  std::unordered_map<const Value*, std::optional<int64_t>> known_;
};

}  // namespace

double EstimateRuns(const Op* op) {
  Estimates estimates;
  double runs = 1;
  for (const ir::Region* region = op->parent_region(); region->parent();
       region = region->parent()->parent_region())
    runs *= estimates.Iterations(region->parent(), region);
  return runs;
}

double EstimateBlockSize(const Value* block) {
  return static_cast<double>(Estimates().BlockSize(block));
}

double EstimatePoints(const Op* elementwise) { return Estimates().Points(elementwise); }

}  // namespace kdl::passes
