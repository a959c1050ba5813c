#pragma once

#include <string>
#include <vector>

#include "driver/compile.h"
#include "driver/compile_target.h"
#include "driver/files.h"

namespace kdl::driver {

/// Objects on disk, for a linker: written into `folder`, named as `build` names them. Empty after a report.
std::vector<std::string> WriteObjects(Compilation& compilation, const Code& code,
                                      const std::string& folder);

/// The files that `emits` asks for of a compile that is done, in the output folder. Nothing is written yet. Empty after a
/// report.
std::vector<OutputFile> CollectOutputs(Compilation& compilation, const Code& code);

/// KIR as it stands: to standard output, or into the output folder where one is named.
void CollectIr(Compilation& compilation, const ir::Module& module, std::vector<OutputFile>& files);

}  // namespace kdl::driver
