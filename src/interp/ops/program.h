#pragma once

#include "interp/core.h"

namespace kdl::interp {

/// Returns the events in one segment of an op's operands.
std::vector<EventId> EventsOf(const Activation& here, const Instruction& instruction,
                              size_t segment);
/// Returns the failure with the location of the op that made the request.
Failure Located(const Instruction& instruction, const Failure& failure);

void RunAlloc(Core& core, Activation& here, const Instruction& instruction);
void RunFree(Core& core, Activation& here, const Instruction& instruction);
void RunCopy(Core& core, Activation& here, const Instruction& instruction);
void RunFill(Core& core, Activation& here, const Instruction& instruction);
void RunSlice(Core& core, Activation& here, const Instruction& instruction);
void RunSwap(Core& core, Activation& here, const Instruction& instruction);
void RunBindSize(Core& core, Activation& here, const Instruction& instruction);
void RunRequire(Core& core, Activation& here, const Instruction& instruction);
void RunHostLoad(Core& core, Activation& here, const Instruction& instruction);
void RunHostStore(Core& core, Activation& here, const Instruction& instruction);
void RunDraw(Core& core, Activation& here, const Instruction& instruction);
void RunExpect(Core& core, Activation& here, const Instruction& instruction);
void RunDeviceCores(Core& core, Activation& here, const Instruction& instruction);
void RunWorkspace(Core& core, Activation& here, const Instruction& instruction);
void RunFootprint(Core& core, Activation& here, const Instruction& instruction);
void RunInstances(Core& core, Activation& here, const Instruction& instruction);
void RunReserve(Core& core, Activation& here, const Instruction& instruction);
void RunMark(Core& core, Activation& here, const Instruction& instruction);
void RunLives(Core& core, Activation& here, const Instruction& instruction);
void RunApart(Core& core, Activation& here, const Instruction& instruction);
void RunTransfer(Core& core, Activation& here, const Instruction& instruction);
void RunRelocate(Core& core, Activation& here, const Instruction& instruction);
void RunCopyBack(Core& core, Activation& here, const Instruction& instruction);
void RunLaunch(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
