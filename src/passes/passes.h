#pragma once

#include "passes/pass_manager.h"

namespace kdl::passes {

// One function a row of passes.def; each stands, with what it promises, in the file named like the pass.
#define KDL_DECLARE_Module(kind) void Run##kind(PassContext& context);
#define KDL_DECLARE_Kernel(kind) void Run##kind(PassContext& context, ir::Function& kernel);
#define KDL_PASS(kind, name, unit, needs, gives, summary) KDL_DECLARE_##unit(kind)
#include "passes/passes.def"
#undef KDL_DECLARE_Module
#undef KDL_DECLARE_Kernel

}  // namespace kdl::passes
