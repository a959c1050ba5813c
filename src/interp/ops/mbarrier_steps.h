#pragma once

#include "interp/async_copies.h"
#include "interp/core.h"

namespace kdl::interp {

void RunMbarrierInit(Core& core, Activation& here, const Instruction& instruction);
void RunMbarrierInvalidate(Core& core, Activation& here, const Instruction& instruction);
void RunMbarrierArrive(Core& core, Activation& here, const Instruction& instruction);
void RunMbarrierWait(Core& core, Activation& here, const Instruction& instruction);
/// Starts an `async_copy` that fills a slot and arrives at the mbarrier of the slot.
void BeginAtMbarrier(Core& core, Activation& here, const Instruction& instruction, AsyncCopy copy);
void RunTileCopyFits(Core& core, Activation& here, const Instruction& instruction);
void RunProxyFence(Core& core, Activation& here, const Instruction& instruction);
void RunMmaCommit(Core& core, Activation& here, const Instruction& instruction);
void RunMmaWait(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
