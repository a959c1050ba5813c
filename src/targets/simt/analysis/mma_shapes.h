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

/// The shape of a matrix intrinsic, which a group of adjacent GPU threads executes. `row` and `column`
/// determine which elements of the result each thread has.
struct MmaShape {
  const ir::MatrixInstruction* instruction;
  int64_t rows;           ///< the number of rows in one instruction's result
  int64_t columns;        ///< the number of columns in one instruction's result
  ir::AxisDigits row;     ///< which rows a thread has
  ir::AxisDigits column;  ///< which columns a thread has
  int64_t threads;        ///< the number of threads in a group
  int64_t held_bytes;     ///< the maximum bytes of results in one thread's registers
  std::string_view intrinsic;

  /// The number of columns in a product's blocks must be a multiple of this number, because factors are
  /// loaded for two instructions at once.
  int64_t columns_together() const { return 2 * columns; }
  /// The maximum number of columns in the result of a group of threads.
  int64_t most_columns() const { return held_bytes / Bytes(instruction->acc) * threads / rows; }
};

/// Describes a `wgmma`. Each group of threads has the rows of one instruction, and the number of columns is a
/// parameter of the intrinsic. If sums are kept apart from the accumulators, they need as many registers as
/// the accumulators do.
constexpr MmaShape OfGroup(const ir::MatrixInstruction& instruction, std::string_view intrinsic) {
  int64_t held_bytes = instruction.apart > 0 ? 256 : 512;
  return {&instruction, 64, 8, {2, 32, 4, 1, 8}, {1, 4, 1, 2}, 128, held_bytes, intrinsic};
}
constexpr MmaShape OfWarp(const ir::MatrixInstruction& instruction, std::string_view intrinsic) {
  return {&instruction, 16, 8, {2, 8, 4, 1}, {1, 4, 1, 2}, 32, 512, intrinsic};
}

/// The shapes of `wgmma`, for sm_90a, followed by those of `mma.sync`, for sm_80 and later.
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

/// The number of entries in `kMmaShapes` for `wgmma`.
inline constexpr size_t kGroupInstructions = static_cast<size_t>(std::ranges::count_if(
    kMmaShapes, [](const MmaShape& row) { return row.instruction->goes_on; }));
static_assert(std::ranges::all_of(kMmaShapes,
                                  [](const MmaShape& row) {
                                    return std::ranges::find(kMatrixInstructions,
                                                             row.instruction) !=
                                           std::end(kMatrixInstructions);
                                  }),
              "an instruction of kMmaShapes is missing in kMatrixInstructions");

/// Returns the machine's first intrinsic that can compute the product, or null. Ignores the size of the
/// product's blocks.
const MmaShape* FindMmaShape(const SimtFacts& facts, const ir::Op* product);
/// Returns the machine's first intrinsic that can compute the product and whose shape divides the product's
/// blocks, or null.
const MmaShape* BestMmaShape(const SimtFacts& facts, const ir::Op* product);
/// Returns the intrinsic for the product's `instruction` attribute, or null.
const MmaShape* NamedMmaShape(const ir::Op* product);
/// Returns the minimum number of bytes of workgroup memory that the two factors of a `wgmma` product need
/// together.
int64_t MbarrierOrderedBytes(const ir::Op* product);
/// Returns whether the intrinsic requires the terms of each factor to be contiguous. Instructions can
/// transpose only elements of two bytes.
bool WantsTermsSideBySide(const MmaShape& instruction);
/// Returns the thread layout in which as many of the machine's threads as possible execute the instruction.
/// Returns nothing if the instruction's shape does not divide the product's blocks, or if the blocks are too
/// large.
std::optional<ir::LaneMap> MatrixMap(const SimtFacts& facts, const MmaShape& instruction,
                                     const ir::Op* product);

}  // namespace kdl::simt
