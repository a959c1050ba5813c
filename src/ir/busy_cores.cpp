#include "ir/busy_cores.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/value_size.h"

namespace kdl::ir {

namespace {

/// Returns whether the op may be outside of every spmd, where all cores execute it: its result is the same on
/// each core, and no core can observe whether another core has executed it.
bool IsRepeatable(const Op* op) { return !op->info().has(kActs) && op->kind() != OpKind::CoreId; }

/// Collects the spmds of a region. Returns false if the region has any effects outside of spmds. `repeated`
/// says whether the region is in a loop.
bool Collect(const Region* region, bool repeated, std::vector<const Op*>& spmds) {
  for (const Op* op : *region) {
    if (op->kind() == OpKind::Spmd) {
      if (repeated) return false;
      spmds.push_back(op);
      continue;
    }
    if (!IsRepeatable(op)) return false;
    bool inner = repeated || (op->kind() != OpKind::Stage && op->kind() != OpKind::If);
    for (const Region* nested : op->regions()) {
      if (!Collect(nested, inner, spmds)) return false;
    }
  }
  return true;
}

/// Returns a size that is at least `value`, or null if no such size is known.
Size UpperBound(const Function& kernel, SizeTable& sizes, const Value* value) {
  Size size = SizeOfValue(kernel, sizes, value);
  const Op* op = value->def();
  if (size || !op || op->kind() != OpKind::Min) return size;
  Size first = SizeOfValue(kernel, sizes, op->operand(0));
  return first ? first : SizeOfValue(kernel, sizes, op->operand(1));
}

/// Returns the number of blocks of loop variable `b` if each block has `length` elements. The number is exact
/// if the variable's bounds are sizes and lo <= hi; otherwise, it is an upper bound. Returns null if the
/// number cannot be written as a size.
Size BlocksOfBinder(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t b,
                    Size length) {
  Size lo = SizeOfValue(kernel, sizes, spmd->operand(2 * b));
  Size hi = UpperBound(kernel, sizes, spmd->operand(2 * b + 1));
  if (!lo || !hi) return nullptr;
  Size count = sizes.Binary(SizeKind::Sub, hi, lo);
  if (!length) return count;
  Size up = sizes.Binary(SizeKind::Sub, length, sizes.Constant(1));
  return sizes.Binary(SizeKind::FloorDiv, sizes.Binary(SizeKind::Add, count, up), length);
}

/// Returns whether a size cannot be negative, because it consists of size names and non-negative numbers,
/// without subtraction.
bool IsNatural(Size size) {
  if (size->kind == SizeKind::Constant) return size->value >= 0;
  if (size->kind == SizeKind::Symbol) return true;
  return size->kind != SizeKind::Sub && IsNatural(size->lhs) && IsNatural(size->rhs);
}

}  // namespace

Size BlocksOfBinders(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t from,
                     size_t to) {
  Size blocks = sizes.Constant(1);
  for (size_t b = from; b < to; ++b) {
    Type binder = spmd->region()->param(b)->type();
    Size length = binder->kind == TypeKind::Block ? kernel.axis(binder->axes[0]).extent : nullptr;
    Size lo = SizeOfValue(kernel, sizes, spmd->operand(2 * b));
    Size hi = SizeOfValue(kernel, sizes, spmd->operand(2 * b + 1));
    if (!lo || !hi || !IsConstant(lo, 0) || !IsNatural(hi)) return nullptr;
    blocks = sizes.Binary(SizeKind::Mul, blocks, BlocksOfBinder(kernel, sizes, spmd, b, length));
  }
  return blocks;
}

Size BlocksOfDomain(const Function& kernel, SizeTable& sizes, const Op* spmd) {
  return BlocksOfBinders(kernel, sizes, spmd, 0, spmd->region()->params().size());
}

std::optional<std::vector<Size>> MostBlocks(const Function& kernel, SizeTable& sizes,
                                            const LeastLength& least_length) {
  std::vector<const Op*> spmds;
  if (!Collect(kernel.body, false, spmds)) return std::nullopt;
  std::vector<Size> most;
  for (const Op* spmd : spmds) {
    Size blocks = sizes.Constant(1);
    for (size_t b = 0; b < spmd->region()->params().size(); ++b) {
      bool is_block = spmd->region()->param(b)->type()->kind == TypeKind::Block;
      Size length = is_block ? least_length(spmd, b) : nullptr;
      Size count = BlocksOfBinder(kernel, sizes, spmd, b, length);
      if (!count) return std::nullopt;
      blocks = sizes.Binary(SizeKind::Mul, blocks, count);
    }
    most.push_back(blocks);
  }
  return most;
}

}  // namespace kdl::ir
