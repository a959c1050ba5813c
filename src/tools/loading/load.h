#pragma once

#include <string>

#include "driver/compile/compile.h"
#include "driver/run/run_place.h"

namespace kdl::tools {

/// The linked file that contains the kernels for this processor.
struct LoadedImage {
  std::string path;   ///< where it was when it was loaded
  std::string bytes;  ///< its contents
};

/// Creates a runtime context with the compiled kernels, for execution on this machine. On error,
/// reports it and returns null. If `image` is
/// not null, stores the file with the kernels in it.
driver::Context Load(driver::Session& session, driver::Compilation& made,
                     LoadedImage* image = nullptr);

}  // namespace kdl::tools
