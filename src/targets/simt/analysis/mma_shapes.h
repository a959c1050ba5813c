#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "ir/lane_map.h"
#include "ir/matrix_instruction.h"
#include "support/scalar.h"
#include "targets/simt/facts.h"
#include "targets/simt/instructions.h"

namespace kdl::simt {

/// A unit that multiplies matrices, as a group of workers next to each other gives it theirs: of the result each has the
/// points that the digits say, of rows and columns.
struct MmaShape {
  const ir::MatrixInstruction* instruction;
  int64_t rows;  ///< of a step's result
  int64_t columns;
  ir::AxisDigits row;  ///< of the rows a worker has
  ir::AxisDigits column;
  int64_t threads;     ///< of a group
  int64_t held_bytes;  ///< of results that a worker may have in registers
  std::string_view intrinsic;

  /// What a product's blocks are multiples of, along its columns: factors are brought for two steps at once.
  int64_t columns_together() const { return 2 * columns; }
  /// The most of a group's result.
  int64_t most_columns() const { return held_bytes / Bytes(instruction->acc) * threads / rows; }
};

/// Of `wgmma` each group of workers has one step's rows, of the intrinsic the columns are open. Sums apart take as many registers as
/// what they are added to.
constexpr MmaShape OfGroup(const ir::MatrixInstruction& instruction, std::string_view intrinsic) {
  int64_t held_bytes = instruction.apart > 0 ? 256 : 512;
  return {&instruction, 64, 8, {2, 32, 4, 1, 8}, {1, 4, 1, 2}, 128, held_bytes, intrinsic};
}
constexpr MmaShape OfWarp(const ir::MatrixInstruction& instruction, std::string_view intrinsic) {
  return {&instruction, 16, 8, {2, 8, 4, 1}, {1, 4, 1, 2}, 32, 512, intrinsic};
}

/// `wgmma` of sm_90a, then `mma.sync` of sm_80 and later.
inline constexpr MmaShape kMmaShapes[] = {
    OfGroup(kGroupBf16, "wgmma.mma_async.sync.aligned.m64n{}k16.f32.bf16.bf16"),
    OfGroup(kGroupF16, "wgmma.mma_async.sync.aligned.m64n{}k16.f32.f16.f16"),
    OfGroup(kGroupI8, "wgmma.mma_async.sync.aligned.m64n{}k32.s32.s8.s8"),
    OfGroup(kGroupU8, "wgmma.mma_async.sync.aligned.m64n{}k32.s32.u8.u8"),
    OfGroup(kGroupI8U8, "wgmma.mma_async.sync.aligned.m64n{}k32.s32.s8.u8"),
    OfGroup(kGroupU8I8, "wgmma.mma_async.sync.aligned.m64n{}k32.s32.u8.s8"),
    OfGroup(kGroupE4, "wgmma.mma_async.sync.aligned.m64n{}k32.f32.e4m3.e4m3"),
    OfGroup(kGroupE5, "wgmma.mma_async.sync.aligned.m64n{}k32.f32.e5m2.e5m2"),
    OfGroup(kGroupE4E5, "wgmma.mma_async.sync.aligned.m64n{}k32.f32.e4m3.e5m2"),
    OfGroup(kGroupE5E4, "wgmma.mma_async.sync.aligned.m64n{}k32.f32.e5m2.e4m3"),
    OfGroup(kGroupTf32, "wgmma.mma_async.sync.aligned.m64n{}k8.f32.tf32.tf32"),
    OfWarp(kMmaBf16, "llvm.nvvm.mma.m16n8k16.row.col.bf16"),
    OfWarp(kMmaF16, "llvm.nvvm.mma.m16n8k16.row.col.f32.f32"),
    OfWarp(kMmaI8, "llvm.nvvm.mma.m16n8k32.row.col.s8"),
    OfWarp(kMmaU8, "llvm.nvvm.mma.m16n8k32.row.col.u8"),
    OfWarp(kMmaTf32, "llvm.nvvm.mma.m16n8k8.row.col.tf32")};

/// Rows of wgmma.
inline constexpr size_t kGroupInstructions = static_cast<size_t>(std::ranges::count_if(
    kMmaShapes, [](const MmaShape& row) { return row.instruction->goes_on; }));
static_assert(std::ranges::all_of(kMmaShapes,
                                  [](const MmaShape& row) {
                                    return std::ranges::find(kMatrixInstructions,
                                                             row.instruction) !=
                                           std::end(kMatrixInstructions);
                                  }),
              "a unit of kMmaShapes is missing in kMatrixInstructions");

/// That of the machine's which multiplies what the product does, whatever its blocks; null: none.
const MmaShape* FindMmaShape(const SimtFacts& facts, const ir::Op* product);
/// The first of those of whose steps the product's blocks are made; null: none.
const MmaShape* BestMmaShape(const SimtFacts& facts, const ir::Op* product);
/// That which the product names; null: none.
const MmaShape* NamedMmaShape(const ir::Op* product);
/// Of a product of a group's unit: what both factors take of near memory, at least.
int64_t MbarrierOrderedBytes(const ir::Op* product);
/// Whether the unit takes factors only with their terms side by side: instructions turn squares round of elements of two bytes only.
bool WantsTermsSideBySide(const MmaShape& instruction);
/// How workers share the product, so that as many as the machine has of them have whole steps; nothing: its blocks are not made
/// of such, or are too large.
std::optional<ir::LaneMap> MatrixMap(const SimtFacts& facts, const MmaShape& instruction,
                                     const ir::Op* product);

}  // namespace kdl::simt
