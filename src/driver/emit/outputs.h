#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/files.h"

namespace kdl::driver {

/// Writes the objects of the programs for a host of this architecture into `folder`. Returns their
/// paths, which are passed to a linker. On error, reports it and returns nothing.
std::vector<std::string> WriteObjects(Session& session, Compilation& made, std::string_view arch,
                                      bool embeds_ir, const std::string& folder);

/// Returns the files that `emits` requests from a finished compilation, with paths in the output
/// folder. Does not write them yet. On error, reports it and returns nothing.
std::vector<OutputFile> CollectOutputs(Session& session, Compilation& made, const Emits& emits);

/// Outputs the module as KIR: to standard output, or as a file if an output folder is given.
void CollectIr(Session& session, const ir::Module& module, std::vector<OutputFile>& files);

}  // namespace kdl::driver
