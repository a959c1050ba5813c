#pragma once

#include <vector>

#include "ir/module.h"

// Finds the tiles that each iteration of a loop fetches with asynchronous copies, and the ops that compute where these
// tiles are. An earlier iteration repeats these ops to fetch the tiles ahead of time.

namespace kdl::simt {

/// How threads wait for the copies that fetch a tile.
enum class FetchKind {
  Groups,       ///< all threads copy, and each waits for groups of its own copies
  FirstThread,  ///< the first thread copies the tile, and waits for the copy
  Mbarriers,  ///< a tile copy of the first thread, or else all threads, fetch the tile; threads wait at mbarriers
};

/// A tile that an iteration of a loop fetches.
struct Fetched {
  ir::Op* fetch;             ///< the op that fills the buffer
  ir::Op* buffer;            ///< the `buffer_new` that makes the buffer
  std::vector<ir::Op*> ops;  ///< the ops of the iteration, in order, that compute where the data is
  FetchKind kind;
  /// For mbarriers: the workgroup loop whose matrix instructions read the tile.
  ir::Op* reader = nullptr;
};

/// Returns the tiles that earlier iterations of the loop can fetch.
std::vector<Fetched> FetchedTiles(const ir::Function& kernel, ir::Op* loop);

/// Returns whether the op fetches a tile with one tile copy, or with copies of all threads where that is impossible.
bool FetchesTensorTile(const ir::Op* op);

}  // namespace kdl::simt
