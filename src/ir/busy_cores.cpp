#include "ir/busy_cores.h"

#include <algorithm>

#include "ir/op_info.h"
#include "ir/value_size.h"

namespace kdl::ir {

namespace {

/// Ops that may stand outside of blocks: each core does the same, and nobody sees whether it did.
bool IsRepeatable(const Op* op) { return !op->info().has(kActs) && op->kind() != OpKind::CoreId; }

/// Collects the spmds of a block; false where something else is done. `repeated`: inside a loop.
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

/// A size that is no smaller than the value; null: none is known.
Size MostOf(const Function& kernel, SizeTable& sizes, const Value* value) {
  Size size = SizeOfValue(kernel, sizes, value);
  const Op* op = value->def();
  if (size || !op || op->kind() != OpKind::Min) return size;
  Size first = SizeOfValue(kernel, sizes, op->operand(0));
  return first ? first : SizeOfValue(kernel, sizes, op->operand(1));
}

/// The blocks of binder number `b`, each `length` long: exact where its bounds are sizes and lo is not above hi, else more.
/// Null: no size says so.
Size BlocksOfBinder(const Function& kernel, SizeTable& sizes, const Op* spmd, size_t b,
                    Size length) {
  Size lo = SizeOfValue(kernel, sizes, spmd->operand(2 * b));
  Size hi = MostOf(kernel, sizes, spmd->operand(2 * b + 1));
  if (!lo || !hi) return nullptr;
  Size count = sizes.Binary(SizeKind::Sub, hi, lo);
  if (!length) return count;
  Size up = sizes.Binary(SizeKind::Sub, length, sizes.Constant(1));
  return sizes.Binary(SizeKind::FloorDiv, sizes.Binary(SizeKind::Add, count, up), length);
}

/// Whether a size cannot be negative: size names, numbers and what is added, multiplied and divided of them.
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
