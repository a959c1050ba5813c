// The kinds of devices that every context has.
#pragma once

#include "core/context.h"

namespace kdl::runtime {

Error AddBuiltinDevices(Context& context);

}  // namespace kdl::runtime
