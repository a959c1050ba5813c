#pragma once

#include "interp/core.h"

namespace kdl::interp {

// One handler runs one op, or starts the op's region; `yield` and `return` go on with the op around
// them.

// values.cpp
void RunNumber(Core& core, Activation& here, const Instruction& instruction);
void RunScalarElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunTileElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunBound(Core& core, Activation& here, const Instruction& instruction);
void RunBlkStart(Core& core, Activation& here, const Instruction& instruction);
void RunBlkSize(Core& core, Activation& here, const Instruction& instruction);
void RunBlkIndex(Core& core, Activation& here, const Instruction& instruction);
void RunMakeBlk(Core& core, Activation& here, const Instruction& instruction);
void RunIota(Core& core, Activation& here, const Instruction& instruction);
void RunElement(Core& core, Activation& here, const Instruction& instruction);
void RunCoreId(Core& core, Activation& here, const Instruction& instruction);
void RunCoreNum(Core& core, Activation& here, const Instruction& instruction);

// folds.cpp
void RunReduce(Core& core, Activation& here, const Instruction& instruction);
void RunContraction(Core& core, Activation& here, const Instruction& instruction);
void RunFoldIn(Core& core, Activation& here, const Instruction& instruction);
/// What a fold_in gives for an element of its nest's other axes, the walk's first ones, where no point is folded.
uint64_t FoldOfNothing(Activation& here, const Instruction& fold, const PointWalk& walk);

// combine.cpp: folds and scans by a region
void StartCombine(Core& core, Activation& here, const Instruction& instruction);
void YieldCombine(Core& core, Frame& frame, const Instruction& yield);

// take.cpp
void RunSlide(Core& core, Activation& here, const Instruction& instruction);
void RunTake(Core& core, Activation& here, const Instruction& instruction);

// memory.cpp
void RunScalarLoad(Core& core, Activation& here, const Instruction& instruction);
void RunLoad(Core& core, Activation& here, const Instruction& instruction);
void RunScalarStore(Core& core, Activation& here, const Instruction& instruction);
void RunStore(Core& core, Activation& here, const Instruction& instruction);
void RunUpdate(Core& core, Activation& here, const Instruction& instruction);
void RunCheck(Core& core, Activation& here, const Instruction& instruction);
void RunAlignGap(Core& core, Activation& here, const Instruction& instruction);
void RunHint(Core& core, Activation& here, const Instruction& instruction);
void RunBufferNew(Core& core, Activation& here, const Instruction& instruction);
void RunCopyIn(Core& core, Activation& here, const Instruction& instruction);
void RunCopyOut(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitCopies(Core& core, Activation& here, const Instruction& instruction);
void RunBufferLoad(Core& core, Activation& here, const Instruction& instruction);
void RunBufferStore(Core& core, Activation& here, const Instruction& instruction);

// homes.cpp
void RunHome(Core& core, Activation& here, const Instruction& instruction);
void RunGet(Core& core, Activation& here, const Instruction& instruction);
void RunPut(Core& core, Activation& here, const Instruction& instruction);
void RunMove(Core& core, Activation& here, const Instruction& instruction);

// vectors.cpp
void RunVectorElementwise(Core& core, Activation& here, const Instruction& instruction);
void RunSplat(Core& core, Activation& here, const Instruction& instruction);
void RunLaneMask(Core& core, Activation& here, const Instruction& instruction);
void RunLaneNumbers(Core& core, Activation& here, const Instruction& instruction);
void RunZip(Core& core, Activation& here, const Instruction& instruction);
void RunUnitStep(Core& core, Activation& here, const Instruction& instruction);
void RunHalf(Core& core, Activation& here, const Instruction& instruction);
void RunTranspose(Core& core, Activation& here, const Instruction& instruction);

// copies.cpp
void RunCopyAhead(Core& core, Activation& here, const Instruction& instruction);
void RunCloseAhead(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitAhead(Core& core, Activation& here, const Instruction& instruction);

// gates.cpp
void RunGatesOpen(Core& core, Activation& here, const Instruction& instruction);
void RunGatesClose(Core& core, Activation& here, const Instruction& instruction);
void RunGateArrive(Core& core, Activation& here, const Instruction& instruction);
void RunGateAwait(Core& core, Activation& here, const Instruction& instruction);
void RunCopyBox(Core& core, Activation& here, const Instruction& instruction);
void RunBoxFits(Core& core, Activation& here, const Instruction& instruction);
void RunShowStores(Core& core, Activation& here, const Instruction& instruction);
void RunCloseSteps(Core& core, Activation& here, const Instruction& instruction);
void RunAwaitSteps(Core& core, Activation& here, const Instruction& instruction);

// matrix_step.cpp
void RunMatrixStep(Core& core, Activation& here, const Instruction& instruction);
void RunTileSteps(Core& core, Activation& here, const Instruction& instruction);

// vector_memory.cpp
void RunVectorLoad(Core& core, Activation& here, const Instruction& instruction);
void RunVectorStore(Core& core, Activation& here, const Instruction& instruction);
void RunVectorBufferLoad(Core& core, Activation& here, const Instruction& instruction);
void RunVectorBufferStore(Core& core, Activation& here, const Instruction& instruction);

// launch_state.cpp
void RunTable(Core& core, Activation& here, const Instruction& instruction);
void RunLaunchTensor(Core& core, Activation& here, const Instruction& instruction);
void RunView(Core& core, Activation& here, const Instruction& instruction);
void RunSync(Core& core, Activation& here, const Instruction& instruction);
void RunBarrier(Core& core, Activation& here, const Instruction& instruction);

// control.cpp
void StartFor(Core& core, Activation& here, const Instruction& instruction);
void StartCut(Core& core, Activation& here, const Instruction& instruction);
void StartLoop(Core& core, Activation& here, const Instruction& instruction);
void StartSpmd(Core& core, Activation& here, const Instruction& instruction);
void StartNest(Core& core, Activation& here, const Instruction& instruction);
void YieldLoop(Core& core, Frame& frame, const Instruction& yield);
void YieldSpmd(Core& core, Frame& frame, const Instruction& yield);
void YieldNest(Core& core, Frame& frame, const Instruction& yield);
void YieldIf(Core& core, Frame& frame, const Instruction& yield);
void StartIf(Core& core, Activation& here, const Instruction& instruction);
void StartCall(Core& core, Activation& here, const Instruction& instruction);
/// tile_call.cpp: of a fn that is given blks or pipes.
bool IsTileCall(const ir::Op& call);
void StartTileCall(Core& core, Activation& here, const Instruction& call);
void ReturnToTileCall(Core& core, Frame& frame, const Instruction& return_op);
void RunYield(Core& core, Activation& here, const Instruction& instruction);
void RunReturn(Core& core, Activation& here, const Instruction& instruction);

// while.cpp
void StartWhile(Core& core, Activation& here, const Instruction& instruction);
void YieldWhile(Core& core, Frame& frame, const Instruction& yield);

// print.cpp
void RunPrint(Core& core, Activation& here, const Instruction& instruction);

// assert.cpp
void RunAssert(Core& core, Activation& here, const Instruction& instruction);

// pipes.cpp
void RunPipe(Core& core, Activation& here, const Instruction& instruction);
void RunPush(Core& core, Activation& here, const Instruction& instruction);
void RunPop(Core& core, Activation& here, const Instruction& instruction);
void RunAcquire(Core& core, Activation& here, const Instruction& instruction);
void RunCommit(Core& core, Activation& here, const Instruction& instruction);
void RunWait(Core& core, Activation& here, const Instruction& instruction);
void RunMatch(Core& core, Activation& here, const Instruction& instruction);
void RunRelease(Core& core, Activation& here, const Instruction& instruction);

// stages.cpp
void StartStage(Core& core, Activation& here, const Instruction& instruction);
void YieldStage(Core& core, Frame& frame, const Instruction& yield);

// program.cpp
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
