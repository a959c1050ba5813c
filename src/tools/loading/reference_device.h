#pragma once

#include <span>
#include <string_view>

#include "ir/matrix_instruction.h"
#include "support/result.h"

struct kdl_context;

namespace kdl::tools {

/// Adds a device kind that is the interpreter: kernels run from the KIR text that the payload of an image of the kind is. A
/// variant's symbol is the name of its function in that text, whose contractions may name the units.
/// Keys: `seed` (0: cores one after the other; else interleaved in an order drawn from it; where left
/// out 1, with a watch 0), `cores` (what `auto` gives, 4 where left out), `watch` (`races`: a launch
/// stops at the first race of blocks, and at what nothing has written).
Status AddInterpreter(kdl_context* context, std::string_view kind,
                      std::span<const ir::MatrixInstruction* const> instructions);

/// The kind `reference`, with the units of kernelc's own families.
Status AddReferenceDevice(kdl_context* context);

}  // namespace kdl::tools
