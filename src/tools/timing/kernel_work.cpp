#include "tools/timing/kernel_work.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "ir/eval/eval.h"
#include "ir/op_info.h"
#include "ir/views.h"

// Counts the operations in a kernel's loops, for given sizes. Iterations whose blocks have the same
// length do the same work, so they are counted once, unless bounds or conditions in the loop depend
// on the iteration. In that case, each iteration is counted separately.

namespace kdl::tools {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

void Add(Operations& sum, const Operations& more, double times) {
  for (const auto& [scalar, count] : more) sum[scalar] += times * count;
}

/// Returns the number of float operations that an elementwise op does for each element.
int OperationsOf(OpKind kind) {
  switch (kind) {
    case OpKind::Fma:
    case OpKind::FmaFlush:
      return 2;
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Min:
    case OpKind::Max:
    case OpKind::Sqrt:
      return 1;
    default:
      return 0;
  }
}

struct Iteration {
  int64_t start = 0;
  int64_t size = 1;
  int64_t number = 0;
};

class WorkCounter {
 public:
  WorkCounter(const ir::Module& module, const std::function<std::optional<int64_t>(Name)>& value)
      : module_(module), value_(value) {}

  std::optional<Operations> CountKernel(const ir::Function& kernel) {
    function_ = &kernel;
    Operations work = RegionWork(kernel.body);
    return known_ ? std::optional(work) : std::nullopt;
  }

 private:
  static constexpr int64_t kMostSteps = 2'000'000;

  // -- Numbers

  std::optional<uint64_t> ScalarBits(const Value* value) {
    if (auto known = scalars_.find(value); known != scalars_.end()) return known->second;
    const Op* def = value->def();
    if (!ir::IsScalar(value->type())) return std::nullopt;
    if (!def) return NamedValue(value->name());
    if (def->kind() == OpKind::Const) return def->attr<AttrKey::Bits>();
    if (def->kind() == OpKind::SizeOf) {
      std::optional<int64_t> size = Evaluate(def->attr<AttrKey::Size>(), value_);
      return size ? std::optional(static_cast<uint64_t>(*size)) : std::nullopt;
    }
    if (auto iteration =
            def->operands().empty() ? iterations_.end() : iterations_.find(def->operand(0));
        iteration != iterations_.end()) {
      if (def->kind() == OpKind::BlockStart) return static_cast<uint64_t>(iteration->second.start);
      if (def->kind() == OpKind::BlockSize) return static_cast<uint64_t>(iteration->second.size);
      if (def->kind() == OpKind::BlockIndex) return static_cast<uint64_t>(iteration->second.number);
    }
    if (!def->info().has(ir::kElementwise) || def->results().size() != 1) return std::nullopt;
    std::vector<uint64_t> operands;
    for (const Value* operand : def->operands()) {
      std::optional<uint64_t> bits = ScalarBits(operand);
      if (!bits) return std::nullopt;
      operands.push_back(*bits);
    }
    if (operands.empty()) return std::nullopt;
    return ir::Evaluate(def->kind(), def->operands().back()->type()->scalar, value->type()->scalar,
                        operands.data());
  }

  /// Returns the value of a kernel parameter that is a size or whose value the caller knows.
  std::optional<uint64_t> NamedValue(Name name) const {
    std::optional<int64_t> value = value_(name);
    return value ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
  }

  int64_t Number(const Value* value) {
    std::optional<uint64_t> bits = ScalarBits(value);
    if (!bits) known_ = false;
    return bits ? ir::Extended(value->type()->scalar, *bits) : 0;
  }

  double Points(const ir::AxisList& axes) const {
    double points = 1;
    for (ir::AxisId axis : axes) {
      auto size = sizes_.find(axis);
      points *= size == sizes_.end() ? 1 : static_cast<double>(size->second);
    }
    return points;
  }

  // -- Ops

  Operations RegionWork(const ir::Region* region) {
    Operations work;
    for (const Op* op : *region) {
      if (!known_) return {};
      Add(work, OpWork(op), 1);
    }
    return work;
  }

  Operations OpWork(const Op* op) {
    switch (op->kind()) {
      case OpKind::Spmd:
        return LoopWork(op, 0);
      case OpKind::For:
      case OpKind::Loop:
        if (op->HasAttr(AttrKey::Breaks)) return Unless(LoopWork(op, 0).empty());
        return LoopWork(op, 0);
      case OpKind::While:
        return Unless(RegionWork(op->region()).empty());
      case OpKind::If:
        return BranchWork(op);
      case OpKind::MakeBlock:
        return EnterMadeRange(op);
      case OpKind::Contraction:
        return {{op->HasAttr(AttrKey::Instruction) ? op->operand(0)->type()->scalar
                                                   : op->attr<AttrKey::Acc>(),
                 2 * FoldedPoints(op, op->result()->type()->axes)}};
      case OpKind::Reduce:
        return {{op->attr<AttrKey::Acc>(), Points(op->operand(0)->type()->axes)}};
      case OpKind::MultiReduce:
      case OpKind::Scan:
        return Times(RegionWork(op->region()), FoldedPoints(op, {}));
      case OpKind::Update:
        return {{op->operand(0)->type()->scalar, Points(op->operand(0)->type()->axes)}};
      case OpKind::Call:
        return CallWork(op);
      case OpKind::Stage:
        return RegionWork(op->region());
      default:
        return ElementwiseWork(op);
    }
  }

  /// Returns zero operations. If `is_nothing` is false, the real number may be larger and is not
  /// known, so the total becomes unknown.
  Operations Unless(bool is_nothing) {
    known_ &= is_nothing;
    return {};
  }

  static Operations Times(const Operations& work, double times) {
    Operations product;
    Add(product, work, times);
    return product;
  }

  /// Returns the product of the sizes of all axes that occur in the op's operands or in `more`.
  double FoldedPoints(const Op* op, const ir::AxisList& more) const {
    std::set<ir::AxisId> all(more.begin(), more.end());
    for (const Value* operand : op->operands()) {
      if (operand->type()->kind == ir::TypeKind::Tile)
        all.insert(operand->type()->axes.begin(), operand->type()->axes.end());
    }
    return Points({all.begin(), all.end()});
  }

  Operations ElementwiseWork(const Op* op) const {
    if (!op->info().has(ir::kElementwise) || op->results().size() != 1) return {};
    ir::Type type = op->result()->type();
    int count = IsFloat(type->scalar) ? OperationsOf(op->kind()) : 0;
    return count == 0 ? Operations() : Operations{{type->scalar, count * Points(type->axes)}};
  }

  Operations CallWork(const Op* op) {
    const ir::Function* callee = module_.FindFunction(op->attr<AttrKey::Callee>());
    double points = FoldedPoints(op, {});
    auto known = calls_.find(callee);
    if (known == calls_.end()) known = calls_.emplace(callee, RegionWork(callee->body)).first;
    return Times(known->second, points);
  }

  Operations BranchWork(const Op* op) {
    if (std::optional<uint64_t> condition = ScalarBits(op->operand(0)))
      return RegionWork(op->region(*condition != 0 ? 0 : 1));
    Operations work = RegionWork(op->region(0));
    return work == RegionWork(op->region(1)) ? work : Unless(false);
  }

  Operations EnterMadeRange(const Op* op) {
    ir::MakeBlockOp block(const_cast<Op*>(op));
    Iteration iteration{Number(block.start()), Number(block.size()), 0};
    iterations_[op->result()] = iteration;
    sizes_[op->result()->type()->axes[0]] = iteration.size;
    return {};
  }

  // -- Loops

  Operations LoopWork(const Op* loop, size_t binder) {
    bool spmd = loop->kind() == OpKind::Spmd;
    if (binder == (spmd ? loop->region()->params().size() : 1)) return RegionWork(loop->region());
    const Value* param = loop->region()->param(binder);
    bool is_block = param->type()->kind == ir::TypeKind::Block;
    int64_t lo = Number(loop->operand(spmd ? 2 * binder : 0));
    int64_t hi = Number(loop->operand(spmd ? 2 * binder + 1 : 1));
    int64_t step = 1;
    if (is_block) {
      std::optional<int64_t> extent =
          Evaluate(EnclosingFunction(loop).axis(param->type()->axes[0]).extent, value_);
      known_ &= extent.has_value();
      step = extent.value_or(1);
    } else if (loop->kind() == OpKind::Loop) {
      step = Number(loop->operand(2));
    }
    if (!known_ || step < 1 || hi <= lo) return {};
    int64_t iterations = (hi - lo - 1) / step + 1;
    auto take = [&](int64_t number) {
      int64_t start = lo + number * step;
      Iteration iteration{start, std::min(step, hi - start), number};
      if (is_block) {
        iterations_[param] = iteration;
        sizes_[param->type()->axes[0]] = iteration.size;
      } else {
        scalars_[param] = static_cast<uint64_t>(start);
      }
      known_ &= ++steps_ <= kMostSteps;
      return LoopWork(loop, binder + 1);
    };
    if (!DependsOnIteration(loop, param)) {
      Operations work;
      if (iterations > 1) Add(work, take(0), static_cast<double>(iterations - 1));
      Add(work, take(iterations - 1), 1);
      return work;
    }
    Operations work;
    for (int64_t number = 0; number < iterations && known_; ++number) Add(work, take(number), 1);
    return work;
  }

  const ir::Function& EnclosingFunction(const Op* op) const {
    const ir::Function* function = op->parent_region()->function();
    return function ? *function : *function_;
  }

  /// Whether bounds, conditions or blocks inside the loop depend on the start or the number of the
  /// current iteration's block.
  static bool DependsOnIteration(const Op* loop, const Value* param) {
    std::set<const Value*> tainted;
    if (param->type()->kind != ir::TypeKind::Block) tainted.insert(param);
    bool found = false;
    ir::Walk(loop->region(), [&](const Op* op) {
      bool starts = (op->kind() == OpKind::BlockStart || op->kind() == OpKind::BlockIndex) &&
                    op->operand(0) == param;
      bool takes = std::ranges::any_of(
          op->operands(), [&](const Value* operand) { return tainted.contains(operand); });
      if (!starts && !takes) return;
      found |= !op->regions().empty() || op->kind() == OpKind::MakeBlock;
      for (const Value* result : op->results()) {
        if (ir::IsScalar(result->type())) tainted.insert(result);
      }
    });
    return found;
  }

  const ir::Module& module_;
  const std::function<std::optional<int64_t>(Name)>& value_;
  const ir::Function* function_ = nullptr;
  std::unordered_map<const Value*, uint64_t> scalars_;      ///< values of loop indices
  std::unordered_map<const Value*, Iteration> iterations_;  ///< current iterations of blocks
  std::map<ir::AxisId, int64_t> sizes_;                     ///< sizes of the current blocks
  std::unordered_map<const ir::Function*, Operations> calls_;
  int64_t steps_ = 0;
  bool known_ = true;
};

}  // namespace

double Sum(const Operations& operations) {
  double sum = 0;
  for (const auto& [scalar, count] : operations) sum += count;
  return sum;
}

std::optional<Operations> CountWork(const ir::Module& module, const ir::Function& kernel,
                                    const std::function<std::optional<int64_t>(Name)>& value) {
  return WorkCounter(module, value).CountKernel(kernel);
}

}  // namespace kdl::tools
