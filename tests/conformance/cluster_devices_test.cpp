// Runs the suite on cluster machines. Also checks the errors for clusters that fail, and for wrong images and
// descriptions.
#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "conformance/conformance.h"
#include "conformance/kernels.h"
#include "conformance/workgroup_image.h"
#include "kdl/cluster_abi.hpp"
#include "kdl/cluster_description_reader.hpp"

namespace kdl::conformance {

namespace {

constexpr const char* kNoWorkspace = "pipes are buffers of a workgroup: kernels take no workspace";
constexpr const char* kNoStop = "nothing stops what runs";
constexpr const char* kSpec = "cluster-riscv64?deadline=1";

std::string ImageBytes() {
  std::ifstream file(KDL_CLUSTER_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const kdl_image* const* Images() {
  static const WorkgroupImage kImage = [] { return WorkgroupImage("cluster", ImageBytes()); }();
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  return kAll;
}

void Prepare(Context& context) {
  context.Register(kImages);
  context.Register(Images());
}

void PrepareOfAnotherAbi(Context& context) {
  static const WorkgroupImage kImage("cluster", [] {
    std::string bytes = ImageBytes();
    const std::string hash(reinterpret_cast<const char*>(&kdl_cluster_abi_hash),
                           sizeof kdl_cluster_abi_hash);
    const std::size_t at = bytes.find(hash);
    REQUIRE(at != std::string::npos);
    ++bytes[at];
    return bytes;
  }());
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  context.Register(kImages);
  context.Register(kAll);
}

// Replaces the kernel `spin` with one that accesses memory outside the scratchpad.
void PrepareOfStrays(Context& context) {
  static const WorkgroupImage kImage = [] {
    WorkgroupImage image("cluster", ImageBytes());
    for (std::vector<kdl_variant>& variants : image.variants) {
      if (variants[0].symbol == std::string("spin")) variants[0].symbol = "strays";
    }
    return image;
  }();
  static const kdl_image* const kAll[] = {&kImage.image, nullptr};
  context.Register(kImages);
  context.Register(kAll);
}

std::string LaunchError(const Bench& bench, const char* kernel, kdl_code code) {
  const Tensor y = bench.Upload<std::int64_t>({0, 0, 0});
  std::string message;
  CHECK(CodeOf([&] { bench.queue.Launch(kernel, 3, {y}).Wait(); }, &message) == code);
  return message;
}

void CheckUse(const Bench& bench) {
  const Tensor y = bench.Upload<std::int64_t>({0, 0, 0});
  bench.queue.Launch("mark", 3, {y}).Wait();
  CHECK(bench.Download<std::int64_t>(y) == std::vector<std::int64_t>{3, 3, 3});
}

std::string DescriptionError(const std::string& text) {
  return ClusterDescriptionReader("m.yaml", text).error;
}

bool Has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

const std::vector<DeviceUnderTest>& DevicesUnderTest() {
  static const std::vector<DeviceUnderTest> kDevices = {
      {"cluster-riscv64",
       "cluster-riscv64[1]",
       Prepare,
       {{"WorkspaceIsAllocatedOrGiven", kNoWorkspace},
        {"SlicesOfTheWorkspaceAreApart", kNoWorkspace},
        {"SlicesOnlyForBusyCores", kNoWorkspace},
        {"BoundCallsHaveTheirWorkspaces", kNoWorkspace},
        {"CallsHaveTheirWorkspaces", kNoWorkspace},
        {"CancelEndsWhatRuns", kNoStop}}}};
  return kDevices;
}

TEST_CASE("clusters: a cluster that hangs is abandoned, and the device can be used again") {
  const DeviceUnderTest device{kSpec, kSpec, Prepare, {}};
  const Bench bench(device);
  const std::string message = LaunchError(bench, "spin", KDL_ERROR_DEVICE);
  CHECK(Has(message, "has made no progress for 1 s while it ran kernel 'spin'"));
  CheckUse(bench);
}

TEST_CASE(
    "clusters: accesses outside the scratchpad are errors, and the device can be used again") {
  const DeviceUnderTest device{kSpec, kSpec, PrepareOfStrays, {}};
  const Bench bench(device);
  const std::string message = LaunchError(bench, "spin", KDL_ERROR_DEVICE);
  CHECK(Has(message, " of a scratchpad of 4194304 bytes"));
  CHECK(Has(message, "while it ran kernel 'spin'"));
  CheckUse(bench);
}

TEST_CASE("clusters: an image of another ABI version is rejected") {
  const DeviceUnderTest device{kSpec, kSpec, PrepareOfAnotherAbi, {}};
  const Bench bench(device);
  const std::string message = LaunchError(bench, "mark", KDL_ERROR_INVALID_ARGUMENT);
  CHECK(Has(message, "was built for another version of the runtime"));
}

TEST_CASE("clusters: errors in descriptions are reported") {
  CHECK(DescriptionError("name: a\n\nname: b") == "m.yaml:3: key 'name' is given twice");
  CHECK(DescriptionError("# a machine\nclusters: 0  # none") ==
        "m.yaml:2: clusters must be a number from 1 to 256, not '0'");
  CHECK(DescriptionError("scratchpad_bytes: 5000") ==
        "m.yaml:1: scratchpad_bytes must be a number from 4096 to 1099511627776, a multiple of "
        "4096, not "
        "'5000'");
  CHECK(DescriptionError("run: qemu") == "m.yaml:1: run must be a list: [word, word]");
  CHECK(DescriptionError("run: [a,, b]") == "m.yaml:1: run has an empty word");
  CHECK(DescriptionError("run: [\"a]") == "m.yaml:1: run has a word without its closing quote");
  CHECK(DescriptionError("run: [\"a\" b]") == "m.yaml:1: run needs a comma between two words");
  for (const char* line : {"cpu", "cpu:a", " cpu: a"})
    CHECK(DescriptionError(line) ==
          "m.yaml:1: expected a line `key: value` without leading blanks");
  CHECK(DescriptionError("---\nblocks: team") ==
        "m.yaml:2: blocks must be one of cluster, core, not 'team'");
  CHECK(DescriptionError("- a") == "m.yaml:1: a line `- word` must follow the key of a list");
  CHECK(DescriptionError("run:\n  - \"a\\tb\"") ==
        "m.yaml:2: run has a backslash in double quotes; use single quotes");
  CHECK(DescriptionError("run:\n  - 'a' b") == "m.yaml:2: run has two words in one line");
  CHECK(DescriptionError("alignment: 96") ==
        "m.yaml:1: alignment must be a number from 64 to 4096, a power of two, not '96'");
  CHECK(Has(DescriptionError("cpus: a"), "m.yaml:1: unknown key 'cpus'; the keys are: name"));
  CHECK(Has(DescriptionError("name: a"), "m.yaml: these keys are missing: triple cpu clusters"));
  ClusterDescriptionReader whole("m.yaml",
                                 "name: a\ntriple: t\ncpu: c\nfeatures: []\nclusters: 2\ncores: 4\n"
                                 "scratchpad_bytes: 262144\nmemory_bytes: 1048576\n"
                                 "stack_bytes: 16384\ndeadline_seconds: 1\n"
                                 "link: [l, \"{image}\", \"{objects}\"]\n"
                                 "run: [q, \"x,y=1\", \"{image}\"]  # runs it\n");
  CHECK(whole.error == "");
  CHECK(whole.description.blocks == ClusterBlocks::Cluster);
  CHECK(whole.description.launch_scratchpad_bytes() == 262144);
  CHECK(whole.description.cores == 4);
  CHECK(whole.description.run == std::vector<std::string>{"q", "x,y=1", "{image}"});
}

TEST_CASE("clusters: descriptions of other compilers and of blocks of cores") {
  const std::string text =
      "name: 'a_b'\ntriple: t\ncpu: c\nfeatures: []\nclusters: 2\ncores: 4\nblocks: core\n"
      "scratchpad_bytes: 266240\nmemory_bytes: 1048576\nalignment: 4096\nstack_bytes: 16384\n"
      "deadline_seconds: 1\ncode: c\nlink:\n  - l  # links\n  - '{image}'\n  - \"{objects}\"\n"
      "run: [q, \"{image}\"]\n";
  CHECK(DescriptionError(text) ==
        "m.yaml: the code is for another compiler, but its command line, `compile`, is missing");
  CHECK(DescriptionError(text + "compile: [cc, '{source}']\n") ==
        "m.yaml: compile has no word {object}");
  const std::string narrow = "scratchpad_bytes: 266240";
  std::string thin = text + "compile: [cc, '{source}', '{object}']\n";
  thin.replace(thin.find("cores: 4"), 8, "cores: 256");
  thin.replace(thin.find(narrow), narrow.size(), "scratchpad_bytes: 4096");
  CHECK(DescriptionError(thin) ==
        "m.yaml: a core's part of the scratchpad has fewer than 64 bytes");
  const ClusterDescription made =
      ClusterDescriptionReader("m.yaml", text + "compile: [cc, '{source}', '{object}']\n")
          .description;
  CHECK(made.name == "a_b");
  CHECK(made.code == ClusterCode::C);
  CHECK(made.link == std::vector<std::string>{"l", "{image}", "{objects}"});
  CHECK(made.launch_cores() == 8);
  CHECK(made.workers() == 1);
  CHECK(made.launch_scratchpad_bytes() == 66560);
  CHECK(made.alignment == 4096);
}

}  // namespace kdl::conformance
