#include "driver/compile/stdlib.h"

namespace kdl::driver {

namespace {

constexpr StdlibFile kFiles[] = {
#include "stdlib_files.inc"
};

}  // namespace

std::span<const StdlibFile> StdlibFiles() { return kFiles; }

}  // namespace kdl::driver
