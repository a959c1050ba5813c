#pragma once

#include "codegen/llvm/emitter.h"

namespace kdl::codegen {

/// Returns the processor's instruction that the `instruction` attribute of the op names.
const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op);

/// Returns the distance in bytes between neighboring elements along a dimension of the buffer.
int64_t BytesApart(const ir::Value* buffer, size_t dim);

/// Emits `tile_mma` with instructions whose accumulators are matrices of two rows and two columns
/// (small_matrices.cpp).
void EmitSmallMatrices(Emitter& emitter, ir::Op* op);

}  // namespace kdl::codegen
