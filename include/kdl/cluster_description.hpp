// A machine of clusters as a file describes it: YAML of which only `key: value` lines, lists in brackets or of a line a word, and
// comments are taken. The compiler and the runtime both read it, and neither needs a library for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kdl {

// The most bytes that a description has.
inline constexpr std::size_t kMostOfDescription = std::size_t{1} << 20;

// What a key of a few words says.
enum class ClusterCode : std::uint8_t {
  Llvm,    // an object, by the LLVM in kernelc
  LlvmIr,  // an object by `compile`, of LLVM's IR as text
  C        // an object by `compile`, of freestanding C
};
// A launch's core is the one or the other.
enum class ClusterBlocks : std::uint8_t { Cluster, Core };
// Where what goes from stage to stage lies.
enum class ClusterPipes : std::uint8_t { Scratchpad, Memory };
// How a cluster and the host tell each other of news.
enum class ClusterTransport : std::uint8_t { Socket, Polling };
// What a clock of the host measures.
enum class ClusterTimes : std::uint8_t { Emulated, Real };

struct ClusterDescription {
  std::string name;    // which images run there: those made for a machine of this name
  std::string triple;  // LLVM's, as are the next two
  std::string cpu;
  std::vector<std::string> features;
  ClusterCode code = ClusterCode::Llvm;
  std::string layout = "e-m:e-p:64:64-i64:64-i128:128-n32:64-S128";  // of data in LLVM's IR
  // That multiply and add, by the compiler's names.
  std::vector<std::string> instructions = {"cpu.bf16_pairs"};
  std::int64_t clusters = 0;
  std::int64_t cores = 0;  // of a cluster: the workers of a team
  ClusterBlocks blocks = ClusterBlocks::Cluster;
  ClusterPipes pipes = ClusterPipes::Scratchpad;
  std::int64_t scratchpad_bytes = 0;
  std::int64_t memory_bytes = 0;      // global
  std::int64_t alignment = 64;        // of what the host places there
  std::int64_t stack_bytes = 0;       // of a core
  std::int64_t deadline_seconds = 0;  // after which a cluster that does not get on is given up
  ClusterTransport transport = ClusterTransport::Socket;
  ClusterTimes times = ClusterTimes::Emulated;
  // Programs with their arguments, in which some words stand for files. The program's path, where it has a `/`, and words that begin
  // with ./ or ../ are taken from the description's folder, as is the path of `boot`.
  std::vector<std::string>
      compile;       // {source}: IR or C; {object}: the file to make; where `code` asks
  std::string boot;  // what `link` takes besides the kernels; empty: the object in kernelc
  std::vector<std::string> link;   // {image}: the file to make; {objects}: what it is made of
  std::vector<std::string> run;    // {image}: the linked file
  std::vector<std::string> lines;  // prints FILE:LINE of an {address} in {image}; may be missing

  // Of a launch.
  std::int64_t launch_cores() const {
    return blocks == ClusterBlocks::Core ? clusters * cores : clusters;
  }
  std::int64_t workers() const { return blocks == ClusterBlocks::Core ? 1 : cores; }
  // That one of them has to itself.
  std::int64_t launch_scratchpad_bytes() const {
    constexpr std::int64_t kLine = 64;
    return blocks == ClusterBlocks::Core ? scratchpad_bytes / cores / kLine * kLine
                                         : scratchpad_bytes;
  }
};

// What stands in a file: a row a key.
namespace cluster_keys {

using D = ClusterDescription;
struct Word {
  std::string_view key;
  std::string D::* field;
  bool may_be_missing = false;
  bool is_name = false;
};
// One of a few words; where it is missing, the first one.
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
  bool is_power = false;  // of two
};
struct List {
  std::string_view key;
  std::vector<std::string> D::* field;
  std::vector<std::string_view> files;  // words that it has to have
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
// The tables are never destroyed: a destructor that runs at the end of the process may open a device.
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
