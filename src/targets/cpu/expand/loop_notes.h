#pragma once

#include "targets/cpu/expand/elementwise_body.h"

namespace kdl::cpu {

/// Adds performance remarks about an elementwise loop, if they are wanted. `body` is the body that most
/// elements run, which is that of the interior if the loop has one.
void NoteElementwiseLoop(const ElementwiseLoopBody& body, const ir::Op* elementwise);

}  // namespace kdl::cpu
