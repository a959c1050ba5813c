#pragma once

#include <span>

#include "targets/simt/rings/fetches.h"

namespace kdl::simt {

/// Returns whether a loop whose tiles are `all` does nothing but fetch them and multiply them in one workgroup loop.
bool OnlyMultiplies(const ir::Op* loop, std::span<const Fetched> all);

/// Fetches the tiles ahead of time. Threads wait at mbarriers for copies, and copies wait for threads.
void PipelineMbarriers(ir::Module& module, ir::Op* loop, std::span<const Fetched> all,
                       int64_t ahead);

}  // namespace kdl::simt
