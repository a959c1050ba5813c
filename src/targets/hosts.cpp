#include "targets/hosts.h"

#include <string>

namespace kdl::targets {

namespace {

struct HostRow {
  std::string_view arch;
  std::string_view triple;
  std::string_view cpu;
  std::string_view tune;
};

constexpr HostRow kHosts[] = {
#define KDL_HOST(...) {__VA_ARGS__},
#include "targets/hosts.def"
};

}  // namespace

std::string_view OwnArch() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__x86_64__)
  return "x86-64";
#else
#error "kernelc runs on x86-64 and on aarch64"
#endif
}

std::optional<codegen::Processor> HostProcessor(std::string_view arch) {
  for (const HostRow& host : kHosts) {
    if (host.arch != arch) continue;
    codegen::Processor processor;
    processor.arch = processor.level = host.arch;
    processor.triple = host.triple;
    processor.cpu = host.cpu;
    processor.tune = host.tune;
    return processor;
  }
  return std::nullopt;
}

}  // namespace kdl::targets
