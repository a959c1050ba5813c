#pragma once

#include <span>
#include <string_view>

#include "ir/matrix_instruction.h"
#include "support/result.h"

struct kdl_context;

namespace kdl::tools {

/// Adds a kind of device that is implemented by the interpreter. Its images contain the KIR text of
/// their kernels. The symbol of a kernel variant is the name of a function in that text.
/// `instructions` are the matrix instructions that contractions in the text may name. The options
/// of a device are:
///   seed      0: run the cores one after another; otherwise interleave them in a random order with
///             this seed. The default is 1, or 0 with `sanitize`.
///   cores     the number of cores for `auto`, 4 by default
///   sanitize  `races`: stop a launch at the first race between blocks; `init`: stop it at the first
///             read of unwritten memory; `races+init`: both
Status AddInterpreter(kdl_context* context, std::string_view kind,
                      std::span<const ir::MatrixInstruction* const> instructions);

/// Adds the kind `reference`, with the matrix instructions of all of kernelc's own target families.
Status AddReferenceDevice(kdl_context* context);

}  // namespace kdl::tools
