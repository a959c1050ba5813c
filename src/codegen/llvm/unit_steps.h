#pragma once

#include "codegen/llvm/emitter.h"

namespace kdl::codegen {

/// The instruction of the unit that an op names.
const StepInstruction& InstructionOf(const Emitter& emitter, const ir::Op* op);

}  // namespace kdl::codegen
