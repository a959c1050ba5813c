#include <algorithm>
#include <vector>

#include "ir/ring.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "passes/rewriting/rewrite.h"
#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/passes.h"
#include "targets/simt/rings/fetches.h"
#include "targets/simt/rings/mbarrier_pipeline.h"
#include "targets/simt/rings/thread_pipeline.h"

// pipeline-async-copies: fetches tiles that each iteration of a loop reads, such as the factors of a product, some
// iterations ahead, with asynchronous copies that run while other iterations compute. A tile's buffer becomes a ring
// buffer with a slot for each iteration in flight. rings/fetches.h finds the tiles. This file decides how many iterations
// ahead they are fetched; thread_pipeline.cpp rewrites loops whose threads wait for their own copies, and
// mbarrier_pipeline.cpp those whose threads wait at mbarriers.

namespace kdl::simt {

namespace {

using ir::AttrKey;

int64_t FetchedBytes(const std::vector<Fetched>& all) {
  int64_t bytes = 0;
  for (const Fetched& fetched : all) bytes += ir::WorkgroupBytes(fetched.buffer->result()->type());
  return bytes;
}

/// Returns the tiles that earlier iterations of the loop fetch with mbarriers, or those that they fetch without.
std::vector<Fetched> TilesOf(const ir::Function& kernel, Op* loop, bool with_mbarriers) {
  std::vector<Fetched> all = FetchedTiles(kernel, loop);
  std::erase_if(all, [&](const Fetched& fetched) {
    return (fetched.kind == FetchKind::Mbarriers) != with_mbarriers;
  });
  return all;
}

/// Returns the number of bytes that the kernel's pipes will occupy once their slots have become buffers.
int64_t PipeBytes(const ir::Function& kernel) {
  int64_t bytes = 0;
  for (const Op* pipe : ir::PipesOf(kernel))
    bytes += ir::WorkgroupBytes(pipe->result()->type()) * pipe->attr<AttrKey::Depth>();
  return bytes;
}

/// Returns how many iterations ahead a loop can fetch; 0 if there is no room. If all tiles must be in workgroup memory,
/// a loop has the slots that the source demands, and check-scratch reports an error if they do not fit.
int64_t IterationsAhead(const SimtFacts& facts, const Op* loop, int64_t usual, int64_t most) {
  if (!loop->HasAttr(AttrKey::Ahead)) return std::min(usual, most);
  bool has_limit = facts.workgroup_limit > 0;
  return has_limit ? loop->attr<AttrKey::Ahead>() : std::min(loop->attr<AttrKey::Ahead>(), most);
}

/// Returns how many iterations ahead a loop with mbarriers fetches. One is the least: matrix instructions read one slot while
/// another one is filled. A loop that does more than multiply computes long enough to hide one fetch.
int64_t MbarrierIterationsAhead(const Op* loop, const std::vector<Fetched>& all, int64_t usual,
                                int64_t most) {
  int64_t least = kLeastSlots - 1;
  int64_t wanted = OnlyMultiplies(loop, all) ? usual : least;
  if (loop->HasAttr(AttrKey::Ahead)) wanted = loop->attr<AttrKey::Ahead>();
  return std::max(std::min({wanted, most, kMostSlots - 1}), least);
}

/// All loops with mbarriers need two slots, so only the rest is room for more.
void PipelineWithMbarriers(PassContext& context, const ir::Function& kernel, int64_t usual) {
  std::vector<Op*> loops = OpsOfKind(kernel, OpKind::Loop);
  int64_t room = SimtFactsOf(context).workgroup_bytes - ir::WorkgroupBytes(kernel);
  for (Op* loop : loops) {
    std::vector<Fetched> all = TilesOf(kernel, loop, true);
    if (!all.empty()) room -= kWorkgroupOfMbarriers + FetchedBytes(all);
  }
  for (Op* loop : loops) {
    std::vector<Fetched> all = TilesOf(kernel, loop, true);
    if (all.empty()) continue;
    int64_t bytes = FetchedBytes(all);
    int64_t ahead = MbarrierIterationsAhead(loop, all, usual, 1 + room / bytes);
    room -= (ahead - 1) * bytes;
    PipelineMbarriers(context.module, loop, all, ahead);
  }
}

void PipelineWithThreads(PassContext& context, const ir::Function& kernel, int64_t usual) {
  const SimtFacts& facts = SimtFactsOf(context);
  int64_t room = facts.ring_bytes - ir::WorkgroupBytes(kernel);
  if (!facts.global_pipes) room -= PipeBytes(kernel);
  bool has_parts = !OpsOfKind(kernel, OpKind::Sync).empty();
  for (Op* loop : OpsOfKind(kernel, OpKind::Loop)) {
    std::vector<Fetched> all = TilesOf(kernel, loop, false);
    if (all.empty()) continue;
    int64_t bytes = FetchedBytes(all);
    int64_t ahead = IterationsAhead(facts, loop, usual, room / bytes);
    if (ahead < 1) continue;
    room -= ahead * bytes;
    if (all[0].kind == FetchKind::Groups) {
      PipelineGroups(context.module, loop, all, ahead);
    } else {
      PipelineFirstThread(context.module, loop, all, ahead, has_parts);
    }
  }
}

/// Lets threads copy the elements of tensor tiles that no loop fetches ahead of time.
void CopyOtherTilesByThreads(PassContext& context, const ir::Function& kernel) {
  for (Op* branch : OpsOfKind(kernel, OpKind::If)) {
    if (!FetchesTensorTile(branch)) continue;
    ir::Builder b(context.module, branch);
    ir::ValueMap map;
    ir::CloneBody(branch->region(1), b, map);
    ir::Erase(branch);
  }
  for (Op* fits : OpsOfKind(kernel, OpKind::TileCopyFits)) {
    if (fits->operand(ir::TileCopyFitsOp::at_buffer)->def()->HasAttr(AttrKey::MbarrierOrdered))
      continue;
    ir::Builder b(context.module, fits);
    fits->result()->ReplaceAllUsesWith(b.Bool(false));
    ir::Erase(fits);
  }
}

}  // namespace

void PipelineIterations(PassContext& context, ir::Function& kernel, int64_t ahead_usually) {
  PipelineWithMbarriers(context, kernel, ahead_usually);
  PipelineWithThreads(context, kernel, ahead_usually);
  CopyOtherTilesByThreads(context, kernel);
}

void RunPipelineAsyncCopies(PassContext& context, ir::Function& kernel) {
  PipelineIterations(context, kernel, context.Value(kCopiesAhead));
}

}  // namespace kdl::simt
