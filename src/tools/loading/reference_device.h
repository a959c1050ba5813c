#pragma once

#include <span>
#include <string_view>

#include "ir/matrix_instruction.h"
#include "support/result.h"

struct kdl_context;

namespace kdl::tools {

/// Adds a kind of device that is implemented by the interpreter. The payload of its images is KIR
/// text, from which kernels are executed. The symbol of a variant is the name of a function in that
/// text. `instructions` are the matrix instructions that its contractions may name. The options of a
/// device are:
///   seed   0: run the cores one after the other; otherwise interleave them in a random order with this
///          seed. The default is 1, or 0 with `watch`.
///   cores  the number of cores for `auto`, 4 by default
///   watch  `races`: stop a launch at the first race between blocks or read of unwritten memory
Status AddInterpreter(kdl_context* context, std::string_view kind,
                      std::span<const ir::MatrixInstruction* const> instructions);

/// Adds the kind `reference`, with the matrix instructions of kernelc's own families.
Status AddReferenceDevice(kdl_context* context);

}  // namespace kdl::tools
