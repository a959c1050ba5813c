// The kinds of device in every context.
#pragma once

#include "core/context.h"

namespace kdl::runtime {

Error AddBuiltinDevices(Context& context);

}  // namespace kdl::runtime
