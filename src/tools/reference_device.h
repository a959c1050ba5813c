#pragma once

#include "support/result.h"

struct kdl_context;

namespace kdl::tools {

/// Adds the device kind `reference`: kernels run in the interpreter, from the KIR text that the
/// payload of a `reference` image is. A variant's symbol is the name of its function in that text.
/// Keys: `seed` (0: cores one after the other; else interleaved in an order drawn from it; 1 where
/// left out), `cores` (what `auto` gives, 4 where left out).
Status AddReferenceDevice(kdl_context* context);

}  // namespace kdl::tools
