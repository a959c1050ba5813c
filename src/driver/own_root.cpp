#include "driver/own_root.h"

namespace kdl::driver {

std::filesystem::path OwnRoot() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

}  // namespace kdl::driver
