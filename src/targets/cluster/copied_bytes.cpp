#include "targets/cluster/copied_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "ir/op_info.h"
#include "ir/value_size.h"
#include "ir/views.h"
#include "support/scalar.h"
#include "targets/cluster/copy_tiles.h"

namespace kdl::cluster {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using ir::Value;

/// Adds up the bytes that block copies move, loop by loop.
class ByteCounter {
 public:
  ByteCounter(ir::Module& module, const ir::Function& kernel)
      : kernel_(kernel), sizes_(module.types().sizes()), total_(sizes_.Constant(0)) {}

  std::string CountBytes() {
    Visit(kernel_.body);
    if (!open_) return fmt::format("{} bytes", ToString(total_));
    return fmt::format("a number of bytes that depends on '{}' in line {}", open_->info().spelling,
                       open_->loc().line);
  }

 private:
  /// A loop that encloses the current op: its induction variable (a block or an index), and the number of
  /// elements that it covers. For the op `loop`, that is the number of iterations.
  struct Walk {
    const Value* binder;
    Size length;
  };

  void Visit(const ir::Region* region) {
    for (Op* op : *region) {
      if (IsStaged(op) && !(op->kind() == OpKind::Load && loads_.Find(op))) Add(op);
      size_t around = walks_.size();
      const Op* before = closed_;
      Enter(op);
      for (const ir::Region* nested : op->regions()) Visit(nested);
      walks_.resize(around);
      closed_ = before;
    }
  }

  /// Enters the regions of an op. Sets `closed_` if the launch's sizes do not determine how often the op runs
  /// them.
  void Enter(const Op* op) {
    if (op->regions().empty() || op->kind() == OpKind::Stage) return;
    bool walks =
        op->kind() == OpKind::For || op->kind() == OpKind::Spmd || op->kind() == OpKind::Loop;
    if (!walks || op->HasAttr(AttrKey::Breaks)) {
      closed_ = op;
      return;
    }
    bool distributes = op->kind() == OpKind::Spmd;
    size_t binders = distributes ? op->region()->params().size() : 1;
    for (size_t i = 0; i < binders; ++i) {
      Size lo = ir::SizeOfValue(kernel_, sizes_, op->operand(2 * i));
      Size hi = ir::SizeOfValue(kernel_, sizes_, op->operand(2 * i + 1));
      Size step = op->kind() == OpKind::Loop
                      ? ir::SizeOfValue(kernel_, sizes_, op->operand(ir::LoopOp::at_step))
                      : sizes_.Constant(1);
      if (!lo || !hi || !step || !IsConstant(step)) {
        closed_ = op;
        return;
      }
      walks_.push_back(
          {op->region()->param(i), Blocks(sizes_.Binary(SizeKind::Sub, hi, lo), step)});
    }
  }

  Size Blocks(Size length, Size extent) {
    Size more = sizes_.Binary(SizeKind::Sub, extent, sizes_.Constant(1));
    return sizes_.Binary(SizeKind::FloorDiv, sizes_.Binary(SizeKind::Add, length, more), extent);
  }

  void Add(const Op* op) {
    const Value* tile = op->kind() == OpKind::Load ? op->result() : op->operand(0);
    std::vector<ir::AxisId> left = tile->type()->axes;
    Size bytes = sizes_.Constant(Bytes(tile->type()->scalar));
    for (const Walk& walk : walks_) {
      ir::Type type = walk.binder->type();
      Size times = walk.length;
      if (type->kind == ir::TypeKind::Block && std::erase(left, type->axes[0]) == 0)
        times = Blocks(times, kernel_.axis(type->axes[0]).extent);
      bytes = sizes_.Binary(SizeKind::Mul, bytes, times);
    }
    for (ir::AxisId axis : left) bytes = Times(op, bytes, axis);
    if (!bytes) closed_ = op;
    if (closed_) {
      open_ = open_ ? open_ : closed_;
    } else {
      total_ = sizes_.Binary(SizeKind::Add, total_, bytes);
    }
  }

  /// Returns `bytes` multiplied by the size of an axis that no enclosing loop covers. Returns null if the
  /// size is unknown.
  Size Times(const Op* op, Size bytes, ir::AxisId axis) {
    const Value* block = ir::FindBlock(op, axis);
    const Op* made = block ? block->def() : nullptr;
    if (!bytes || !made || made->kind() != OpKind::MakeBlock) return nullptr;
    Size size = ir::SizeOfValue(kernel_, sizes_, ir::MakeBlockOp(const_cast<Op*>(made)).size());
    return size ? sizes_.Binary(SizeKind::Mul, bytes, size) : nullptr;
  }

  const ir::Function& kernel_;
  SizeTable& sizes_;
  Size total_;
  std::vector<Walk> walks_;
  StagedLoads loads_;
  /// The current op, or an op around it, whose number of iterations is not determined by sizes; null if there
  /// is none.
  const Op* closed_ = nullptr;
  /// The value of `closed_` when a copy inside that op was first found.
  const Op* open_ = nullptr;
};

}  // namespace

std::string CopiedBytes(ir::Module& module, const ir::Function& kernel) {
  return ByteCounter(module, kernel).CountBytes();
}

}  // namespace kdl::cluster
