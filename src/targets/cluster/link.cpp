#include "targets/cluster/link.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "support/io.h"
#include "support/process.h"

// The boot code that runs on a cluster (runtime/cluster/guest). It is compiled when kernelc is built, and is
// embedded in kernelc as bytes.
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

/// Placeholder words in the machine's commands, each with the files that replace the word.
using Files = std::vector<std::pair<std::string_view, std::vector<std::string>>>;

/// Runs one of the tools that the machine's description names, in `folder` if that is not empty. `does` says
/// what the tool does, for error messages.
Status RunTool(const ClusterDescription& machine, const std::vector<std::string>& words,
               std::string_view does, const Files& files, const std::string& folder = {}) {
  ProcessRequest request;
  request.folder = folder;
  // Compilers write the name of the current folder into object files. That name differs from run to run, so a
  // fixed name is passed instead.
  if (!folder.empty()) request.environment = {"PWD=/proc/self/cwd"};
  for (const std::string& word : words) {
    auto position = std::ranges::find(files, word, &Files::value_type::first);
    if (position == files.end()) {
      request.words.push_back(word);
    } else {
      request.words.insert(request.words.end(), position->second.begin(), position->second.end());
    }
  }
  const std::string& program = request.words[0];
  if (FindProgram({program}).empty()) {
    return Failure{
        fmt::format("{}, which {} for machine '{}', is not on PATH", program, does, machine.name),
        FailureKind::Environment};
  }
  Result<ProcessResult> result = RunProcess(request);
  if (!result) return result.failure();
  if (result->ok()) return {};
  const std::string& said = result->err.empty() ? result->out : result->err;
  return Failure{
      fmt::format("{}, which {} for machine '{}', {}{}", program, does, machine.name,
                  DescribeEnd(*result, request), said.empty() ? "" : "; it said: " + said),
      FailureKind::Environment};
}

/// Reads the file `path`, which one of the machine's tools should have written.
Result<std::string> MadeBy(const ClusterDescription& machine, const std::string& program,
                           std::string_view does, const std::string& path) {
  Result<std::string> bytes = ReadFile(path, kMostOfTool);
  if (bytes) return bytes;
  return Failure{fmt::format("{}, which {} for machine '{}', wrote no file and reported no error",
                             program, does, machine.name),
                 FailureKind::Environment};
}

constexpr std::string_view kCompiles = "compiles kernels";
constexpr std::string_view kLinks = "links images";

}  // namespace

Result<std::string> CompileText(const ClusterDescription& machine, const std::string& text) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder) return folder.failure();
  const std::string source = machine.code == ClusterCode::C ? "kernels.c" : "kernels.ll";
  const std::string object = "kernels.o";
  Status written = WriteFileWhole(folder->path() + "/" + source, text);
  if (!written) return written.failure();
  Status compiled = RunTool(machine, machine.compile, kCompiles,
                            {{"{source}", {source}}, {"{object}", {object}}}, folder->path());
  if (!compiled) return compiled.failure();
  return MadeBy(machine, machine.compile[0], kCompiles, folder->path() + "/" + object);
}

Result<std::string> Link(const ClusterDescription& machine, const std::string& object) {
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder) return folder.failure();
  const std::string image = folder->path() + "/image";
  const std::string kernels = folder->path() + "/kernels.o";
  if (Status written = WriteFileWhole(kernels, object); !written) return written.failure();
  std::string boot = machine.boot;
  if (boot.empty()) {
    boot = folder->path() + "/boot.o";
    if (Status written = WriteFileWhole(boot, BootObject()); !written) return written.failure();
  } else if (Result<std::string> read = ReadFile(boot, kMostOfTool); !read) {
    return read.failure();  // a linker would read an endless file, such as a device, forever
  }
  Status linked = RunTool(machine, machine.link, kLinks,
                          {{"{image}", {image}}, {"{objects}", {kernels, boot}}});
  if (!linked) return linked.failure();
  return MadeBy(machine, machine.link[0], kLinks, image);
}

}  // namespace kdl::cluster
