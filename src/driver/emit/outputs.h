#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/files.h"

namespace kdl::driver {

/// The objects of programs for a host of this architecture on disk, for a linker: written into `folder`. Empty after a
/// report.
std::vector<std::string> WriteObjects(Session& session, Compilation& made, std::string_view arch,
                                      bool embeds_ir, const std::string& folder);

/// The files that `emits` asks for of a compile that is done, in the output folder. Nothing is written yet. Empty after a
/// report.
std::vector<OutputFile> CollectOutputs(Session& session, Compilation& made, const Emits& emits);

/// KIR as it stands: to standard output, or into the output folder where one is named.
void CollectIr(Session& session, const ir::Module& module, std::vector<OutputFile>& files);

}  // namespace kdl::driver
