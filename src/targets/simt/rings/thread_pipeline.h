#pragma once

#include <span>

#include "targets/simt/rings/fetches.h"
#include "targets/simt/rings/ring_loop.h"

namespace kdl::simt {

/// All threads of a workgroup fetch the tiles, and wait for groups of copies.
void PipelineGroups(ir::Module& module, ir::Op* loop, std::span<const Fetched> all, int64_t ahead);

/// The first thread fetches each of the tiles, and waits for the copies into a slot. `brief` is true if the launch has
/// grid-wide barriers but none of them is in the loop, so that the ring buffers need not survive such a barrier.
void PipelineFirstThread(ir::Module& module, ir::Op* loop, std::span<const Fetched> all,
                         int64_t ahead, bool brief);

/// Emits, at the builder's position, the ops that compute where the tile is for an iteration of the loop. `map` has the
/// values that replace those of the current iteration.
void RepeatOps(ir::Builder& b, const Fetched& fetched, ir::ValueMap& map);

/// Makes the ops that have been added since `before` was copied from the uses of the tile's buffer access a slot of `ring`.
/// Those that wait for the copies are removed.
void MoveNewUses(const Fetched& fetched, const std::vector<ir::Use>& before, ir::Value* ring,
                 ir::Value* slot);

/// Removes the fetch from the iteration, and replaces the buffer by a slot of the ring.
void ReplaceBuffer(const Fetched& fetched, ir::Value* ring, ir::Value* slot);

}  // namespace kdl::simt
