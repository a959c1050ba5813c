#include "targets/cluster/link.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "support/io.h"
#include "support/process.h"

// What boots a cluster is compiled with kernelc (runtime/cluster/guest), and lies in it as bytes.
asm(R"(
  .section .rodata
  .globl kdl_cluster_boot_object
kdl_cluster_boot_object:
  .incbin ")" KDL_CLUSTER_BOOT R"("
  .globl kdl_cluster_boot_object_end
kdl_cluster_boot_object_end:
  .previous
)");
extern "C" const char kdl_cluster_boot_object[];
extern "C" const char kdl_cluster_boot_object_end[];

namespace kdl::cluster {

namespace {

std::string_view BootObject() {
  return {kdl_cluster_boot_object,
          static_cast<size_t>(kdl_cluster_boot_object_end - kdl_cluster_boot_object)};
}

Failure Broken(std::string text) { return {std::move(text), FailureKind::Environment}; }

}  // namespace

Result<std::string> Link(const ClusterDescription& machine, const std::string& object) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder) return folder.failure();
  const std::string image = folder->path() + "/image";
  const std::string kernels = folder->path() + "/kernels.o";
  const std::string boot = folder->path() + "/boot.o";
  for (auto [path, bytes] : {std::pair<const std::string&, std::string_view>(kernels, object),
                             std::pair<const std::string&, std::string_view>(boot, BootObject())}) {
    Status written = WriteFileWhole(path, bytes);
    if (!written) return written.failure();
  }
  ProcessRequest request;
  for (const std::string& word : machine.link) {
    if (word == "{objects}") {
      request.words.insert(request.words.end(), {kernels, boot});
    } else {
      request.words.push_back(word == "{image}" ? image : word);
    }
  }
  if (FindProgram({request.words[0]}).empty())
    return Broken(fmt::format("{} is not here, which links images for machine '{}'",
                              request.words[0], machine.name));
  Result<ProcessResult> result = RunProcess(request);
  if (!result) return result.failure();
  if (!result->ok())
    return Broken(fmt::format("{}, which links images for machine '{}', {}; it said: {}",
                              request.words[0], machine.name, DescribeEnd(*result, request),
                              result->err));
  return ReadFile(image);
}

}  // namespace kdl::cluster
