#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "ir/type.h"
#include "support/check.h"
#include "support/scalar.h"

// The ops that make vectors, take them apart and move lanes about.

namespace kdl::codegen {

namespace {

using ir::OpKind;
using LaneList = llvm::SmallVector<int, 64>;  // of llvm: lanes of b count on from those of a

void EmitSplat(Emitter& emitter, ir::Op* op) {
  emitter.Set(op->result(),
              Splat(emitter, emitter.Get(op->operand(0)), ir::Lanes(op->result()->type())));
}

/// first, first + 1, …: a constant vector of `lanes` integers.
llvm::Constant* LaneNumbers(llvm::IntegerType* type, int64_t lanes) {
  std::vector<llvm::Constant*> numbers;
  for (int64_t lane = 0; lane < lanes; ++lane)
    numbers.push_back(llvm::ConstantInt::get(type, static_cast<uint64_t>(lane)));
  return llvm::ConstantVector::get(numbers);
}

void EmitLaneNumbers(Emitter& emitter, ir::Op* op) {
  emitter.Set(op->result(),
              LaneNumbers(emitter.builder.getInt64Ty(), ir::Lanes(op->result()->type())));
}

// -- lane_mask ------------------------------------------------------------------------------------

/// How wide the lanes are that a mask goes with: a compare of such lanes is a mask of the right form
/// on machines whose masks are vectors.
unsigned MaskedBits(const ir::Value* mask) {
  for (const ir::Use& use : mask->uses()) {
    bool of_memory = use.user->kind() == OpKind::Store || use.user->kind() == OpKind::BufferStore;
    const auto& results = use.user->results();
    if (!of_memory && results.empty()) continue;
    ir::Type type = of_memory ? use.user->operand(0)->type() : results[0]->type();
    if (type->scalar != Scalar::Bool) return static_cast<unsigned>(Bytes(type->scalar)) * 8;
  }
  return 32;
}

/// The type in which lanes are numbered for a mask; signed, it holds the number of lanes too.
llvm::IntegerType* NumberType(Emitter& emitter, const ir::Value* mask) {
  auto needed =
      static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(ir::Lanes(mask->type()))) + 1);
  unsigned bits = std::max({8U, std::bit_ceil(needed), MaskedBits(mask)});
  return emitter.builder.getIntNTy(bits);
}

void EmitLaneMask(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  int64_t lanes = ir::Lanes(op->result()->type());
  llvm::Value* count = emitter.Get(op->operand(0));
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, count, builder.getInt64(0));
  count = builder.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count,
                                        builder.getInt64(static_cast<uint64_t>(lanes)));
  llvm::IntegerType* type = NumberType(emitter, op->result());
  count = Splat(emitter, builder.CreateTrunc(count, type), lanes);
  emitter.Set(op->result(), builder.CreateICmpSLT(LaneNumbers(type, lanes), count));
}

// -- half, transpose ------------------------------------------------------------------------------

void EmitHalf(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::Value* whole = emitter.Get(op->operand(0));
  auto lanes = static_cast<int>(ir::Lanes(op->result()->type()));
  auto first = static_cast<int>(op->attr<ir::AttrKey::Part>()) * lanes;
  if (lanes == 1) {
    emitter.Set(op->result(), builder.CreateExtractElement(whole, static_cast<uint64_t>(first)));
    return;
  }
  LaneList taken;
  for (int lane = 0; lane < lanes; ++lane) taken.push_back(first + lane);
  emitter.Set(op->result(), builder.CreateShuffleVector(whole, taken));
}

/// One round of a transposition: how each pair of rows becomes two others. Every pattern is one
/// instruction of the machines that we compile for.
struct Round {
  LaneList low;
  LaneList high;
};

/// Lanes in groups of `group`; of each group the low (part 0) or high half of a and b, in turn
/// `chunk` lanes of each: with groups of 4 a0 b0 a1 b1 a4 b4 …
LaneList Interleave(int lanes, int group, int chunk, int part) {
  LaneList list;
  for (int begin = 0; begin < lanes; begin += group) {
    for (int i = 0; i < group; ++i) {
      int from_b = i / chunk % 2;
      int place = i / (2 * chunk) * chunk + i % chunk;
      list.push_back(begin + part * group / 2 + place + from_b * lanes);
    }
  }
  return list;
}

/// Of groups of `group` lanes the even (part 0) or odd ones: those of a, then those of b.
LaneList Gather(int lanes, int group, int part) {
  LaneList list;
  for (int from_b = 0; from_b < 2; ++from_b) {
    for (int begin = part * group; begin < lanes; begin += 2 * group) {
      for (int i = 0; i < group; ++i) list.push_back(begin + i + from_b * lanes);
    }
  }
  return list;
}

/// The rounds for n rows of n lanes, of which `group` stand in 128 bits. Call R and C the bits of
/// the numbers of row and column. Interleaving rows that differ in bit j by chunks of 2^j puts R_j
/// at bit j of the lane and moves the bits from there on up by one; the uppermost of the group
/// becomes bit j of the row. Gathering puts R_j at the uppermost bit of the lane and moves those
/// above the group down by one; the lowest of them, C_j, becomes bit j of the row. Afterwards the
/// lane is R; the row is C, with the bits inside a group in reverse order.
std::vector<Round> TransposeRounds(int lanes, int group) {
  std::vector<Round> rounds;
  for (int chunk = 1; chunk < group; chunk *= 2) {
    rounds.push_back({Interleave(lanes, group, chunk, 0), Interleave(lanes, group, chunk, 1)});
  }
  for (int bit = group; bit < lanes; bit *= 2)
    rounds.push_back({Gather(lanes, group, 0), Gather(lanes, group, 1)});
  return rounds;
}

/// `number` with its bits below `group`, a power of two, in reverse order.
size_t ReversedInGroup(size_t number, size_t group) {
  size_t reversed = number & ~(group - 1);
  for (size_t bit = 1, other = group / 2; bit < group; bit *= 2, other /= 2)
    if ((number & bit) != 0) reversed |= other;
  return reversed;
}

std::vector<llvm::Value*> Transposed(Emitter& emitter, std::vector<llvm::Value*> rows) {
  size_t lanes = rows.size();
  KDL_CHECK(std::has_single_bit(lanes), "a transposition of {} rows", lanes);
  size_t bits = rows[0]->getType()->getScalarSizeInBits();
  size_t group = std::min<size_t>(lanes, 128 / bits);
  size_t distance = 1;
  for (const Round& round : TransposeRounds(static_cast<int>(lanes), static_cast<int>(group))) {
    for (size_t row = 0; row < lanes; ++row) {
      if ((row & distance) != 0) continue;
      llvm::Value* a = rows[row];
      llvm::Value* b = rows[row + distance];
      rows[row] = emitter.builder.CreateShuffleVector(a, b, round.low);
      rows[row + distance] = emitter.builder.CreateShuffleVector(a, b, round.high);
    }
    distance *= 2;
  }
  std::vector<llvm::Value*> columns;
  for (size_t column = 0; column < lanes; ++column)
    columns.push_back(rows[ReversedInGroup(column, group)]);
  return columns;
}

void EmitTranspose(Emitter& emitter, ir::Op* op) {
  std::vector<llvm::Value*> rows;
  for (const ir::Value* row : op->operands()) rows.push_back(emitter.Get(row));
  std::vector<llvm::Value*> columns = Transposed(emitter, std::move(rows));
  for (size_t i = 0; i < columns.size(); ++i) emitter.Set(op->result(i), columns[i]);
}

}  // namespace

llvm::Value* Splat(Emitter& emitter, llvm::Value* value, int64_t lanes) {
  if (lanes == 1 || value->getType()->isVectorTy()) return value;
  return emitter.builder.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

std::vector<EmitRow> VectorRows() {
  return {{OpKind::Splat, EmitSplat},
          {OpKind::LaneMask, EmitLaneMask},
          {OpKind::LaneNumbers, EmitLaneNumbers},
          {OpKind::Half, EmitHalf},
          {OpKind::Transpose, EmitTranspose}};
}

}  // namespace kdl::codegen
