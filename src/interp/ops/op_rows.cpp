#include "interp/ops/op_rows.h"

#include "interp/ops/assert.h"
#include "interp/ops/async_copies.h"
#include "interp/ops/checkpoints.h"
#include "interp/ops/combine.h"
#include "interp/ops/control.h"
#include "interp/ops/folds.h"
#include "interp/ops/gather.h"
#include "interp/ops/launch_memory.h"
#include "interp/ops/mbarrier_steps.h"
#include "interp/ops/memory.h"
#include "interp/ops/mma.h"
#include "interp/ops/print.h"
#include "interp/ops/program.h"
#include "interp/ops/ranks.h"
#include "interp/ops/sliding_window.h"
#include "interp/ops/stages.h"
#include "interp/ops/tile_buffers.h"
#include "interp/ops/tile_call.h"
#include "interp/ops/tile_mma.h"
#include "interp/ops/values.h"
#include "interp/ops/vector_memory.h"
#include "interp/ops/vectors.h"
#include "interp/ops/while.h"
#include "interp/pipes.h"
#include "interp/tensor_view.h"
#include "ir/op_table.h"

namespace kdl::interp {

namespace {

using ir::OpInfo;
using ir::OpKind;

constexpr OpRow kRows[] = {
    {OpKind::Const, Plan::Constant, &RunNumber},
    {OpKind::SizeOf, Plan::Size, &RunNumber},
    {OpKind::Call, Plan::Call, &StartCall},
    {OpKind::Return, Plan::None, &RunReturn},
    {OpKind::Bound, Plan::Bound, &RunBound},
    {OpKind::BlockStart, Plan::None, &RunBlockStart},
    {OpKind::BlockSize, Plan::None, &RunBlockSize},
    {OpKind::BlockIndex, Plan::None, &RunBlockIndex},
    {OpKind::MakeBlock, Plan::None, &RunMakeBlock},
    {OpKind::Iota, Plan::ResultAxes, &RunIota},
    {OpKind::Load, Plan::Access, &RunLoad, nullptr, &RunScalarLoad, &RunVectorLoad},
    {OpKind::Store, Plan::Access, &RunStore, nullptr, &RunScalarStore, &RunVectorStore},
    {OpKind::Update, Plan::Access, &RunUpdate},
    {OpKind::LaunchTensor, Plan::CheckedSizes, &RunLaunchTensor},
    {OpKind::Table, Plan::Table, &RunTable},
    {OpKind::View, Plan::CheckedSizes, &RunView},
    {OpKind::Reduce, Plan::Reduce, &RunReduce},
    {OpKind::Contraction, Plan::Contraction, &RunContraction},
    {OpKind::MultiReduce, Plan::MultiReduce, &StartCombine, &YieldCombine},
    {OpKind::Scan, Plan::MultiReduce, &StartCombine, &YieldCombine},
    {OpKind::Gather, Plan::Gather, &RunGather},
    {OpKind::SlidingWindow, Plan::SlidingWindow, &RunSlidingWindow},
    {OpKind::For, Plan::Extent, &StartFor, &YieldLoop},
    {OpKind::Split, Plan::Split, &StartSplit, &YieldLoop},
    {OpKind::Spmd, Plan::Spmd, &StartSpmd, &YieldSpmd},
    {OpKind::Loop, Plan::None, &StartLoop, &YieldLoop},
    {OpKind::While, Plan::None, &StartWhile, &YieldWhile},
    {OpKind::If, Plan::None, &StartIf, &YieldIf},
    {OpKind::Sync, Plan::None, &RunSync},
    {OpKind::Yield, Plan::None, &RunYield},
    {OpKind::Require, Plan::None, &RunRequire},
    {OpKind::Assert, Plan::OperandAxes, &RunAssert},
    {OpKind::StaticAssert, Plan::None, &RunHint},
    {OpKind::Print, Plan::None, &RunPrint},
    {OpKind::CoreId, Plan::None, &RunCoreId},
    {OpKind::CoreNum, Plan::None, &RunCoreNum},
    {OpKind::Pipe, Plan::Pipe, &RunPipe},
    {OpKind::Stage, Plan::None, &StartStage, &YieldStage},
    {OpKind::Push, Plan::Positions, &RunPush},
    {OpKind::Pop, Plan::Positions, &RunPop},
    {OpKind::Acquire, Plan::None, &RunAcquire},
    {OpKind::Commit, Plan::None, &RunCommit},
    {OpKind::Wait, Plan::None, &RunWait},
    {OpKind::Match, Plan::None, &RunMatch},
    {OpKind::Release, Plan::None, &RunRelease},
    {OpKind::Elementwise, Plan::Elementwise, &StartElementwiseLoop, &YieldElementwiseLoop},
    {OpKind::Element, Plan::None, &RunElement},
    {OpKind::ReduceInLoop, Plan::ReduceInLoop, &RunReduceInLoop},
    {OpKind::ScanInLoop, Plan::ScanInLoop, &StartScanInLoop, &YieldScanInLoop},
    {OpKind::TileBuffer, Plan::TileBuffer, &RunTileBuffer},
    {OpKind::LoadTile, Plan::LoadTile, &RunLoadTile},
    {OpKind::StoreTile, Plan::StoreTile, &RunStoreTile},
    {OpKind::Move, Plan::None, &RunMove},
    {OpKind::Check, Plan::None, &RunCheck},
    {OpKind::Barrier, Plan::None, &RunBarrier},
    {OpKind::BusyCores, Plan::None, &RunHint},
    {OpKind::BufferNew, Plan::ResultSizes, &RunBufferNew},
    {OpKind::BufferLoad, Plan::BufferLoad, &RunBufferLoad, nullptr, nullptr, &RunVectorBufferLoad},
    {OpKind::BufferStore, Plan::BufferStore, &RunBufferStore, nullptr, nullptr,
     &RunVectorBufferStore},
    {OpKind::AsyncCopy, Plan::AsyncCopy, &RunAsyncCopy},
    {OpKind::AsyncCopyCommit, Plan::None, &RunAsyncCopyCommit},
    {OpKind::AsyncCopyWait, Plan::None, &RunAsyncCopyWait},
    {OpKind::MbarrierInit, Plan::None, &RunMbarrierInit},
    {OpKind::MbarrierInvalidate, Plan::None, &RunMbarrierInvalidate},
    {OpKind::MbarrierArrive, Plan::None, &RunMbarrierArrive},
    {OpKind::MbarrierWait, Plan::None, &RunMbarrierWait},
    {OpKind::TileCopyFits, Plan::None, &RunTileCopyFits},
    {OpKind::ProxyFence, Plan::None, &RunProxyFence},
    {OpKind::MmaCommit, Plan::None, &RunMmaCommit},
    {OpKind::MmaWait, Plan::None, &RunMmaWait},
    {OpKind::Prefetch, Plan::None, &RunHint},
    {OpKind::AlignGap, Plan::Access, &RunAlignGap},
    {OpKind::RowsAdjoin, Plan::None, &RunRowsAdjoin},
    {OpKind::JoinRows, Plan::CheckedSizes, &RunView},
    {OpKind::Splat, Plan::None, &RunSplat},
    {OpKind::LaneMask, Plan::None, &RunLaneMask},
    {OpKind::LaneNumbers, Plan::None, &RunLaneNumbers},
    {OpKind::CountLanes, Plan::None, &RunCountLanes},
    {OpKind::Compress, Plan::None, &RunCompress},
    {OpKind::Zip, Plan::None, &RunZip},
    {OpKind::Pick, Plan::None, &RunPick},
    {OpKind::VectorMma, Plan::VectorMma, &RunVectorMma},
    {OpKind::Mma, Plan::VectorMma, &RunMma},
    {OpKind::TileMma, Plan::VectorMma, &RunTileMma},
    {OpKind::Half, Plan::None, &RunHalf},
    {OpKind::Transpose, Plan::None, &RunTranspose},
    {OpKind::Alloc, Plan::None, &RunAlloc},
    {OpKind::Free, Plan::None, &RunFree},
    {OpKind::Lives, Plan::None, &RunLives},
    {OpKind::Apart, Plan::None, &RunApart},
    {OpKind::Transfer, Plan::None, &RunTransfer},
    {OpKind::Relocate, Plan::None, &RunRelocate},
    {OpKind::CopyBack, Plan::None, &RunCopyBack},
    {OpKind::Copy, Plan::None, &RunCopy},
    {OpKind::Fill, Plan::None, &RunFill},
    {OpKind::Slice, Plan::None, &RunSlice},
    {OpKind::Swap, Plan::None, &RunSwap},
    {OpKind::BindSize, Plan::None, &RunBindSize},
    {OpKind::HostLoad, Plan::None, &RunHostLoad},
    {OpKind::HostStore, Plan::None, &RunHostStore},
    {OpKind::Draw, Plan::None, &RunDraw},
    {OpKind::Expect, Plan::None, &RunExpect},
    {OpKind::DeviceCores, Plan::None, &RunDeviceCores},
    {OpKind::Mark, Plan::None, &RunMark},
    {OpKind::Launch, Plan::None, &RunLaunch},
    {OpKind::Ranks, Plan::None, &RunRanks},
    {OpKind::Owned, Plan::None, &RunOwned},
    {OpKind::Restore, Plan::None, &RunRestore},
    {OpKind::Checkpoint, Plan::None, &RunCheckpoint},
    {OpKind::OwnedBlocks, Plan::None, &RunOwnedBlocks},
    {OpKind::OwnedBlock, Plan::None, &RunOwnedBlock},
    {OpKind::RankMemory, Plan::None, &RunRankMemory},
    {OpKind::Fetch, Plan::None, &RunFetch},
    {OpKind::FinishFetches, Plan::None, &RunFinishFetches},
    {OpKind::Rewritten, Plan::None, &RunRewritten},
    {OpKind::Workspace, Plan::None, &RunWorkspace},
    {OpKind::Footprint, Plan::None, &RunFootprint},
    {OpKind::Instances, Plan::None, &RunInstances},
    {OpKind::Reserve, Plan::None, &RunReserve},
};
static_assert(ir::CoverOnce(kRows, [](const OpInfo& info) { return !info.is_computed(); }),
              "the interpreter runs each op");

consteval bool RegionsEnd() {
  for (const OpRow& row : kRows) {
    bool has_regions = ir::kOpTable[static_cast<size_t>(row.kind)].regions > 0;
    if (has_regions != (row.yield != nullptr)) return false;
  }
  return true;
}
static_assert(RegionsEnd(), "each op with regions defines what happens at their ends");

constexpr OpRow kComputed = {OpKind::Add, Plan::Computed,        &RunTileElementwise,
                             nullptr,     &RunScalarElementwise, &RunVectorElementwise};

}  // namespace

const OpRow& FindOpRow(ir::OpKind kind) {
  static constexpr auto kByOp = ir::ByOp(kRows);
  return ir::Info(kind).is_computed() ? kComputed : kByOp[static_cast<size_t>(kind)];
}

Handler OpRow::HandlerOf(OpForm form) const {
  if (form == OpForm::Scalars && run_scalars) return run_scalars;
  return form == OpForm::Vectors && run_vectors ? run_vectors : run;
}

}  // namespace kdl::interp
