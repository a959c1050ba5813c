#pragma once

#include <span>
#include <string_view>

namespace kdl::driver {

/// A file of the standard library. The library is embedded in the compiler.
struct StdlibFile {
  std::string_view path;  ///< such as `math/exp.kdl`
  std::string_view text;
};
std::span<const StdlibFile> StdlibFiles();

}  // namespace kdl::driver
