#include "support/system_libraries.h"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

namespace kdl {

namespace {

/// Before version 2.34 of glibc, libpthread and libdl were libraries of their own.
constexpr std::string_view kNames[] = {"libc.so", "libm.so", "libpthread.so", "libdl.so",
                                       "ld-linux"};

int Add(dl_phdr_info* info, size_t /*size*/, void* paths) {
  const std::filesystem::path path = info->dlpi_name;
  const std::string name = path.filename().string();
  if (std::ranges::any_of(kNames, [&](std::string_view part) { return name.starts_with(part); }))
    static_cast<std::vector<std::string>*>(paths)->push_back(path.string());
  return 0;
}

}  // namespace

std::vector<std::string> LoadedSystemLibraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(Add, &paths);
  return paths;
}

}  // namespace kdl
