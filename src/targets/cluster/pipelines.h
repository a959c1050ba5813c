#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cluster/passes.h"

// The passes of pipeline.yaml. Their order is checked when kernelc is compiled.

namespace kdl::cluster {

using namespace simt;

#include "generated_pipelines/cluster.inc"

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cluster
