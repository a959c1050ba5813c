#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/simt/passes.h"

// The passes of pipeline.yaml. Their order is checked when kernelc is compiled.

namespace kdl::simt {

#include "generated_pipelines/simt.inc"

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::simt
