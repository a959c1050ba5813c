#pragma once

#include "targets/simt/facts.h"

namespace kdl::simt {

/// Reports what the kernel does that teams cannot yet; true where there is something.
bool Lacks(const PassContext& context, const ir::Function& kernel);

}  // namespace kdl::simt
