#pragma once

#include <array>

#include "passes/pipelines.h"
#include "targets/cpu/passes.h"

// The passes of pipeline.yaml. Their order is checked when kernelc is compiled.

namespace kdl::cpu {

#include "generated_pipelines/cpu.inc"

static_assert(!FindUnmet({kModulePipeline, kTilePipeline, kPipePipeline, kProgramPipeline,
                          kLoopPipeline}));

}  // namespace kdl::cpu
