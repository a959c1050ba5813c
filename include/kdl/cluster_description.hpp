// The description of a cluster machine, which is read from a file. The file format is a subset of YAML: `key:
// value` lines, lists in brackets or with one word per line, and comments. Both the compiler and the runtime
// read it, without a YAML library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kdl {

// The maximum size of a description in bytes.
inline constexpr std::size_t kMostOfDescription = std::size_t{1} << 20;

// The following enums are the values of keys that accept one of a few words.
enum class ClusterCode : std::uint8_t {
  Llvm,    // an object, from the LLVM inside kernelc
  LlvmIr,  // an object, from `compile`, which is given LLVM IR as text
  C        // an object, from `compile`, which is given freestanding C
};
// What runs one core of a launch: a whole cluster, or one core of a cluster.
enum class ClusterBlocks : std::uint8_t { Cluster, Core };
// Where data is stored that stages pass to one another.
enum class ClusterPipes : std::uint8_t { Scratchpad, Memory };
// How a cluster and the host notify each other.
enum class ClusterTransport : std::uint8_t { Socket, Polling };
// Whether the host's clock measures a real machine or an emulation.
enum class ClusterTimes : std::uint8_t { Emulated, Real };

struct ClusterDescription {
  std::string name;    // images run only on a machine with the name for which they were compiled
  std::string triple;  // in LLVM's spelling, like `cpu` and `features`
  std::string cpu;
  std::vector<std::string> features;
  ClusterCode code = ClusterCode::Llvm;
  std::string layout = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128";  // the data layout in LLVM IR
  // The compiler's names for the matrix instructions of the cores.
  std::vector<std::string> instructions = {"cpu.bf16_pairs"};
  std::int64_t clusters = 0;
  std::int64_t cores = 0;  // number of cores in each cluster
  ClusterBlocks blocks = ClusterBlocks::Cluster;
  ClusterPipes pipes = ClusterPipes::Scratchpad;
  std::int64_t scratchpad_bytes = 0;
  std::int64_t memory_bytes = 0;  // size of global memory
  std::int64_t alignment = 64;    // alignment of allocations by the host
  std::int64_t stack_bytes = 0;   // size of the stack of each core
  // If a cluster makes no progress for this time, it is stopped.
  std::int64_t deadline_seconds = 0;
  ClusterTransport transport = ClusterTransport::Socket;
  ClusterTimes times = ClusterTimes::Emulated;
  // Command lines, in which {words} are replaced by file names. Some paths are relative to the folder of the
  // description: the path of `boot`, a program's path if it contains a `/`, and words that begin with ./ or
  // ../.
  std::vector<std::string>
      compile;       // {source}: IR or C; {object}: its output; needed for some values of `code`
  std::string boot;  // linked with the kernels; if empty, the object inside kernelc is used
  std::vector<std::string> link;   // {image}: its output; {objects}: its inputs
  std::vector<std::string> run;    // {image}: the linked file
  std::vector<std::string> lines;  // prints FILE:LINE for the {address} in {image}; optional

  // The number of cores of a launch that uses the whole machine.
  std::int64_t launch_cores() const {
    return blocks == ClusterBlocks::Core ? clusters * cores : clusters;
  }
  std::int64_t workers() const { return blocks == ClusterBlocks::Core ? 1 : cores; }
  // The number of scratchpad bytes that one core of a launch can use.
  std::int64_t launch_scratchpad_bytes() const {
    constexpr std::int64_t kLine = 64;
    return blocks == ClusterBlocks::Core ? scratchpad_bytes / cores / kLine * kLine
                                         : scratchpad_bytes;
  }
};

// The tables of keys in a description, with a row for each key.
namespace cluster_keys {

using D = ClusterDescription;
struct Word {
  std::string_view key;
  std::string D::* field;
  bool may_be_missing = false;
  bool is_name = false;
};
// A key whose value is one of a few words. If the key is missing, the first of these words applies.
struct Choice {
  std::string_view key;
  std::vector<std::string_view> words;
  void (*set)(D&, std::size_t);
};
struct Number {
  std::string_view key;
  std::int64_t D::* field;
  std::int64_t least;
  std::int64_t most;
  std::int64_t multiple;
  bool may_be_missing = false;
  bool is_power = false;  // whether the number must be a power of two
};
struct List {
  std::string_view key;
  std::vector<std::string> D::* field;
  std::vector<std::string_view> files;  // words that the list must contain
  bool may_be_missing = false;
};
inline constexpr Word kWords[] = {{"name", &D::name, false, true},
                                  {"triple", &D::triple},
                                  {"cpu", &D::cpu},
                                  {"layout", &D::layout, true},
                                  {"boot", &D::boot, true}};
template <auto field>
void Set(D& description, std::size_t word) {
  using Field = std::remove_reference_t<decltype(description.*field)>;
  description.*field = static_cast<Field>(word);
}
// The tables are never destroyed, because a destructor that runs during process exit may still open a device.
inline std::span<const Choice> Choices() {
  static const auto& kChoices =
      *new std::vector<Choice>{{"code", {"llvm", "llvm-ir", "c"}, Set<&D::code>},
                               {"blocks", {"cluster", "core"}, Set<&D::blocks>},
                               {"pipes", {"scratchpad", "memory"}, Set<&D::pipes>},
                               {"transport", {"socket", "polling"}, Set<&D::transport>},
                               {"times", {"emulated", "real"}, Set<&D::times>}};
  return kChoices;
}
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 40;
inline constexpr Number kNumbers[] = {
    {"clusters", &D::clusters, 1, 256, 1},
    {"cores", &D::cores, 1, 256, 1},
    {"scratchpad_bytes", &D::scratchpad_bytes, 4096, kMostBytes, 4096},
    {"memory_bytes", &D::memory_bytes, 1 << 20, kMostBytes, 4096},
    {"alignment", &D::alignment, 64, 4096, 1, true, true},
    {"stack_bytes", &D::stack_bytes, 16384, 1 << 30, 4096},
    {"deadline_seconds", &D::deadline_seconds, 1, 86400, 1}};
inline std::span<const List> Lists() {
  static const auto& kLists =
      *new std::vector<List>{{"features", &D::features, {}},
                             {"instructions", &D::instructions, {}, true},
                             {"compile", &D::compile, {"{source}", "{object}"}, true},
                             {"link", &D::link, {"{image}", "{objects}"}},
                             {"run", &D::run, {"{image}"}},
                             {"lines", &D::lines, {"{image}", "{address}"}, true}};
  return kLists;
}

}  // namespace cluster_keys

}  // namespace kdl
