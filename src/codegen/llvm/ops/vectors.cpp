#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/attr.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "ir/type.h"
#include "support/check.h"
#include "support/scalar.h"

// Ops that build, split and permute vectors.

namespace kdl::codegen {

namespace {

using ir::OpKind;
// A shuffle mask. The lanes of the second vector are numbered after those of the first one.
using LaneList = llvm::SmallVector<int, 64>;

void EmitSplat(Emitter& emitter, ir::Op* op) {
  emitter.Set(op->result(),
              Splat(emitter, emitter.Get(op->operand(0)), ir::Lanes(op->result()->type())));
}

/// Returns the constant vector 0, 1, … of `lanes` integers.
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

/// Returns the width in bits of the lanes that the mask selects. On machines whose masks are vectors,
/// comparing lanes of this width makes a mask of the right form.
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

/// Returns the integer type in which lane numbers are compared to make a mask. As a signed type, it can also
/// represent the number of lanes.
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

using Rows = std::vector<llvm::Value*>;

/// Returns the shuffle that interleaves vectors a and b in groups of `group` lanes. It uses the low (part 0)
/// or high half of each group and takes chunks of `chunk` lanes alternately from a and b. For part 0 with
/// groups of 4 and chunks of 1: a0 b0 a1 b1 a4 b4 …
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

llvm::Value* ZipTwo(Emitter& emitter, llvm::Value* a, llvm::Value* b) {
  auto lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(a->getType())->getNumElements());
  LaneList taken;
  for (int lane = 0; lane < lanes; ++lane) {
    taken.push_back(lane);
    taken.push_back(lanes + lane);
  }
  return emitter.builder.CreateShuffleVector(a, b, taken);
}

LaneList Ascending(int lanes) {
  LaneList list(static_cast<size_t>(lanes));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

/// Zips four rows whose size is a multiple of 128 bits. Rows are first joined in pairs. Zipping their 128-bit
/// parts, and then pairs of elements, takes a third of the instructions for zipping whole rows.
llvm::Value* ZipFour(Emitter& emitter, const Rows& rows, int part) {
  auto& builder = emitter.builder;
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  auto lanes = static_cast<int>(type->getNumElements());
  LaneList joined = Ascending(2 * lanes);
  llvm::Value* even = builder.CreateShuffleVector(rows[0], rows[2], joined);
  llvm::Value* odd = builder.CreateShuffleVector(rows[1], rows[3], joined);
  auto* pair = builder.getIntNTy(2 * type->getScalarSizeInBits());
  auto* pairs = llvm::FixedVectorType::get(pair, static_cast<unsigned>(lanes));
  llvm::Value* halves[2];
  for (int half : {0, 1}) {
    LaneList taken = Interleave(2 * lanes, part, 1, half);
    halves[half] = builder.CreateBitCast(builder.CreateShuffleVector(even, odd, taken), pairs);
  }
  LaneList taken;
  for (int column = 0; column < lanes; ++column) {
    for (int row : {0, lanes}) {
      int in_part = column % part;
      int half = in_part / (part / 2);
      taken.push_back(half * lanes + (row + column) / part * (part / 2) + in_part % (part / 2));
    }
  }
  llvm::Value* zipped = builder.CreateShuffleVector(halves[0], halves[1], taken);
  auto* result =
      llvm::FixedVectorType::get(type->getElementType(), static_cast<unsigned>(4 * lanes));
  return builder.CreateBitCast(zipped, result);
}

/// Zips the even rows, zips the odd rows, and zips the two results. The number of rows must be a power of
/// two.
llvm::Value* Zipped(Emitter& emitter, const Rows& rows) {
  if (rows.size() == 1) return rows[0];
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  auto part = static_cast<int>(128 / type->getScalarSizeInBits());
  if (rows.size() == 4 && static_cast<int>(type->getNumElements()) % part == 0)
    return ZipFour(emitter, rows, part);
  Rows halves[2];
  for (size_t row = 0; row < rows.size(); ++row) halves[row % 2].push_back(rows[row]);
  return ZipTwo(emitter, Zipped(emitter, halves[0]), Zipped(emitter, halves[1]));
}

/// Returns a vector of these scalars.
llvm::Value* SideBySide(Emitter& emitter, llvm::Type* type, const Rows& elements) {
  llvm::Value* vector = llvm::PoisonValue::get(type);
  for (size_t i = 0; i < elements.size(); ++i)
    vector = emitter.builder.CreateInsertElement(vector, elements[i], uint64_t{i});
  return vector;
}

/// Returns whether all operands are f32 that are rounded to bf16, which some machines do for two numbers at once.
bool AreRoundedToBf16(const ir::Op* op) {
  return std::ranges::all_of(op->operands(), [](const ir::Value* value) {
    const ir::Op* cast = value->def();
    return cast && cast->kind() == ir::OpKind::Cast && value->type()->scalar == Scalar::BF16 &&
           cast->operand(0)->type()->scalar == Scalar::F32 && !ir::IsVector(value->type());
  });
}

void EmitZip(Emitter& emitter, ir::Op* op) {
  Rows rows;
  if (AreRoundedToBf16(op)) {
    for (const ir::Value* rounded : op->operands())
      rows.push_back(emitter.Get(rounded->def()->operand(0)));
    auto lanes = static_cast<unsigned>(rows.size());
    llvm::Type* wide = llvm::FixedVectorType::get(emitter.builder.getFloatTy(), lanes);
    emitter.Set(op->result(),
                EmitCast(emitter, SideBySide(emitter, wide, rows), Scalar::F32, Scalar::BF16));
    return;
  }
  for (const ir::Value* row : op->operands()) rows.push_back(emitter.Get(row));
  if (ir::Lanes(op->operand(0)->type()) > 1) {
    KDL_CHECK(std::has_single_bit(rows.size()), "{} rows cannot be zipped: not a power of two",
              rows.size());
    emitter.Set(op->result(), Zipped(emitter, rows));
    return;
  }
  llvm::Type* type = RegisterType(emitter.context(), op->result()->type());
  emitter.Set(op->result(), SideBySide(emitter, type, rows));
}

/// Returns the lanes with the given numbers, which are counted over all rows. A negative number stands for any
/// lane.
llvm::Value* Picked(Emitter& emitter, std::span<llvm::Value* const> rows, const LaneList& numbers) {
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  auto lanes = static_cast<int>(type->getNumElements());
  auto& builder = emitter.builder;
  auto count = static_cast<int>(rows.size());
  if (count == 1) return builder.CreateShuffleVector(rows[0], numbers);
  if (count == 2) return builder.CreateShuffleVector(rows[0], rows[1], numbers);
  int middle = std::bit_ceil(static_cast<unsigned>(count)) / 2;
  LaneList low;
  LaneList high;
  LaneList chosen;
  for (size_t i = 0; i < numbers.size(); ++i) {
    bool is_high = numbers[i] >= middle * lanes;
    low.push_back(is_high ? -1 : numbers[i]);
    high.push_back(is_high ? numbers[i] - middle * lanes : -1);
    chosen.push_back(static_cast<int>(i + (is_high ? numbers.size() : 0)));
  }
  auto split = static_cast<size_t>(middle);
  llvm::Value* of_low = Picked(emitter, rows.first(split), low);
  llvm::Value* of_high = Picked(emitter, rows.subspan(split), high);
  return builder.CreateShuffleVector(of_low, of_high, chosen);
}

/// If the numbers are those of every second lane, first of one and then of another vector of `lanes` lanes, returns for
/// both vectors whether they are the odd lanes.
std::optional<std::array<bool, 2>> OddLanes(const LaneList& numbers, int lanes) {
  if (std::ssize(numbers) != lanes) return std::nullopt;
  auto number = [&](int i) { return numbers[static_cast<size_t>(i)]; };
  std::array<int, 2> first = {number(0), number(lanes / 2) - lanes};
  for (int i = 0; i < lanes / 2; ++i) {
    if (number(i) != first[0] + 2 * i || number(lanes / 2 + i) != lanes + first[1] + 2 * i)
      return std::nullopt;
  }
  auto is_lane = [](int lane) { return lane == 0 || lane == 1; };
  if (!std::ranges::all_of(first, is_lane)) return std::nullopt;
  return std::array{first[0] == 1, first[1] == 1};
}

/// Returns every second lane of two vectors of narrow integers. Pairs of lanes are integers of twice the size, and x86
/// narrows two vectors of integers with one instruction. Returns null if other lanes are picked.
llvm::Value* EverySecond(Emitter& emitter, std::span<llvm::Value* const> rows,
                         const LaneList& numbers) {
  auto* type = llvm::cast<llvm::FixedVectorType>(rows[0]->getType());
  unsigned bits = type->getScalarSizeInBits();
  bool fits = rows.size() == 2 && type->getElementType()->isIntegerTy() &&
              (bits == 8 || bits == 16) && llvm::Triple(emitter.module.getTargetTriple()).isX86();
  unsigned lanes = type->getNumElements();
  auto odd = fits ? OddLanes(numbers, static_cast<int>(lanes)) : std::nullopt;
  if (!odd) return nullptr;
  auto& builder = emitter.builder;
  auto* pairs = llvm::FixedVectorType::get(builder.getIntNTy(2 * bits), lanes / 2);
  auto picked = [&](llvm::Value* row, bool is_odd) {
    llvm::Value* pair = builder.CreateBitCast(row, pairs);
    return is_odd ? builder.CreateLShr(pair, bits) : pair;
  };
  LaneList all(lanes);
  std::iota(all.begin(), all.end(), 0);
  llvm::Value* both =
      builder.CreateShuffleVector(picked(rows[0], (*odd)[0]), picked(rows[1], (*odd)[1]), all);
  return builder.CreateTrunc(both, type);
}

void EmitPick(Emitter& emitter, ir::Op* op) {
  Rows rows;
  for (const ir::Value* row : op->operands()) rows.push_back(emitter.Get(row));
  LaneList numbers;
  for (int64_t lane : op->attr<ir::AttrKey::Picked>()) numbers.push_back(static_cast<int>(lane));
  llvm::Value* picked = EverySecond(emitter, rows, numbers);
  emitter.Set(op->result(), picked ? picked : Picked(emitter, rows, numbers));
}

/// One round of a transposition: two shuffles that turn each pair of rows into two new rows. Each shuffle is
/// one instruction on the processors for which kernelc compiles.
struct Round {
  LaneList low;
  LaneList high;
};

/// Returns the shuffle that selects the even (part 0) or odd groups of `group` lanes, first from a and then
/// from b.
LaneList Gather(int lanes, int group, int part) {
  LaneList list;
  for (int from_b = 0; from_b < 2; ++from_b) {
    for (int begin = part * group; begin < lanes; begin += 2 * group) {
      for (int i = 0; i < group; ++i) list.push_back(begin + i + from_b * lanes);
    }
  }
  return list;
}

/// Returns `number` with its bits below `group`, a power of two, in reverse order.
size_t ReversedInGroup(size_t number, size_t group) {
  size_t reversed = number & ~(group - 1);
  for (size_t bit = 1, other = group / 2; bit < group; bit *= 2, other /= 2)
    if ((number & bit) != 0) reversed |= other;
  return reversed;
}

/// Applies the round to all pairs of rows whose numbers differ only in the bit `distance`.
void RunRound(Emitter& emitter, Rows& rows, size_t distance, const Round& round) {
  for (size_t row = 0; row < rows.size(); ++row) {
    if ((row & distance) != 0) continue;
    llvm::Value* a = rows[row];
    llvm::Value* b = rows[row + distance];
    rows[row] = emitter.builder.CreateShuffleVector(a, b, round.low);
    rows[row + distance] = emitter.builder.CreateShuffleVector(a, b, round.high);
  }
}

/// Transposes each square of `group` rows and `group` lanes. Let R and C be the bits of the row and column
/// numbers. Interleaving rows that differ in bit j, in chunks of 2^j, moves R_j to bit j of the lane and
/// moves the higher bits of the lane up by one. The highest bit in the group becomes bit j of the row. At the
/// end, the row's bits in the group are those of C in reverse order.
void TransposeGroups(Emitter& emitter, Rows& rows, size_t group) {
  auto lanes = static_cast<int>(rows.size());
  auto in_group = static_cast<int>(group);
  for (int chunk = 1; chunk < in_group; chunk *= 2)
    RunRound(emitter, rows, static_cast<size_t>(chunk),
             {Interleave(lanes, in_group, chunk, 0), Interleave(lanes, in_group, chunk, 1)});
}

/// Transposes the matrix of groups. Gathering moves R_j to the highest bit of the lane, and the lane's bits
/// above the group down by one. The lowest of these, C_j, becomes bit j of the row.
void GatherGroups(Emitter& emitter, Rows& rows, size_t group) {
  auto lanes = static_cast<int>(rows.size());
  auto in_group = static_cast<int>(group);
  Round round{Gather(lanes, in_group, 0), Gather(lanes, in_group, 1)};
  for (size_t bit = group; bit < rows.size(); bit *= 2) RunRound(emitter, rows, bit, round);
}

/// Concatenates the vectors in pairs, so that each step is a single insertion from memory.
llvm::Value* Joined(Emitter& emitter, Rows parts) {
  while (parts.size() > 1) {
    auto lanes =
        static_cast<int>(llvm::cast<llvm::FixedVectorType>(parts[0]->getType())->getNumElements());
    LaneList all = Ascending(2 * lanes);
    Rows pairs;
    for (size_t i = 0; i < parts.size(); i += 2)
      pairs.push_back(emitter.builder.CreateShuffleVector(parts[i], parts[i + 1], all));
    parts = std::move(pairs);
  }
  return parts[0];
}

/// Concatenates parts of rows to whole rows, with groups transposed: row k * lanes + r consists of part k of
/// the rows r, r + lanes, r + 2 * lanes, …
Rows JoinedGroups(Emitter& emitter, const Rows& parts, size_t lanes, size_t rows) {
  size_t count = rows / lanes;
  Rows joined;
  for (size_t row = 0; row < rows; ++row) {
    Rows group;
    for (size_t i = 0; i < count; ++i)
      group.push_back(parts[(row % lanes + i * lanes) * count + row / lanes]);
    joined.push_back(Joined(emitter, std::move(group)));
  }
  return joined;
}

/// If each row is filled with a single value, returns these values. Otherwise returns an empty list. A row
/// may consist of several parts.
Rows FillsOf(const Rows& parts, size_t rows) {
  size_t of_row = parts.size() / rows;
  Rows fills;
  for (size_t part = 0; part < parts.size(); ++part) {
    llvm::Value* fill = llvm::getSplatValue(parts[part]);
    bool begins = part % of_row == 0;
    if (!fill || (!begins && fill != fills.back())) return {};
    if (begins) fills.push_back(fill);
  }
  return fills;
}

void EmitTranspose(Emitter& emitter, ir::Op* op) {
  Rows rows;
  for (const ir::Value* row : op->operands()) rows.push_back(emitter.Get(row));
  size_t count = op->results().size();
  // If each row is filled with a single value, all columns are equal. At -O0, LLVM 19 runs into a cycle if it
  // loads these values once for each shuffle.
  if (Rows fills = FillsOf(rows, count); !fills.empty()) {
    llvm::Type* type = RegisterType(emitter.context(), op->result(0)->type());
    llvm::Value* column = SideBySide(emitter, type, fills);
    for (const ir::Value* result : op->results()) emitter.Set(result, column);
    return;
  }
  auto lanes = static_cast<size_t>(ir::Lanes(op->operand(0)->type()));
  // Shuffles within 128 bits are cheap, so whole rows are transposed in groups of that size.
  size_t group = std::min<size_t>(lanes, 128 / rows[0]->getType()->getScalarSizeInBits());
  if (lanes < count) {
    group = lanes;
    rows = JoinedGroups(emitter, rows, lanes, count);
  }
  TransposeGroups(emitter, rows, group);
  if (lanes == count) GatherGroups(emitter, rows, group);
  for (size_t column = 0; column < count; ++column)
    emitter.Set(op->result(column), rows[ReversedInGroup(column, group)]);
}

}  // namespace

llvm::Value* Splat(Emitter& emitter, llvm::Value* value, int64_t lanes) {
  if (lanes == 1 || value->getType()->isVectorTy()) return value;
  return emitter.builder.CreateVectorSplat(static_cast<unsigned>(lanes), value);
}

KDL_EMIT(Splat, EmitSplat)
KDL_EMIT(LaneMask, EmitLaneMask)
KDL_EMIT(LaneNumbers, EmitLaneNumbers)
KDL_EMIT(Half, EmitHalf)
KDL_EMIT(Zip, EmitZip)
KDL_EMIT(Pick, EmitPick)
KDL_EMIT(Transpose, EmitTranspose)

}  // namespace kdl::codegen
