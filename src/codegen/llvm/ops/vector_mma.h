#pragma once

#include "codegen/llvm/emitter.h"

namespace kdl::codegen {

/// The instruction of the unit that an op names.
const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op);

/// Bytes from an element of the buffer to the next one along a dimension.
int64_t BytesApart(const ir::Value* buffer, size_t dim);

/// small_matrices.cpp: tile_mma where accumulators are matrices of two rows and two columns.
void EmitSmallMatrices(Emitter& emitter, ir::Op* op);

}  // namespace kdl::codegen
