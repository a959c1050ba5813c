#pragma once

#include "support/result.h"

struct kdl_context;

namespace kdl::tools {

/// Adds the device kind `reference`: kernels run in the interpreter, from the KIR text that the
/// payload of a `reference` image is. A variant's symbol is the name of its function in that text.
/// Keys: `seed` (0: cores one after the other; else interleaved in an order drawn from it; where left
/// out 1, with a watch 0), `cores` (what `auto` gives, 4 where left out), `watch` (`races`: a launch
/// stops at the first race of blocks, and at what nothing has written).
Status AddReferenceDevice(kdl_context* context);

}  // namespace kdl::tools
