#pragma once

#include <string>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/files.h"

namespace kdl::driver {

/// Returns the files of a Python project, with paths in its folder: what PrintPython prints, the kernels, and the files of
/// the package kernelc that call kernels. If that package is not installed with kernelc, reports an error and returns
/// nothing. `images` is a shared object with the kernels, which run on the device of a spec.
std::vector<OutputFile> PythonProjectFiles(Session& session, const Compilation& made,
                                           const std::string& runtime_name,
                                           const std::string& device, std::string images);

}  // namespace kdl::driver
