#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/code.h"
#include "interp/trap.h"
#include "ir/module.h"

namespace kdl::interp {

class Core;
struct TensorValue;

/// What an access does to an element.
enum class TouchKind : uint8_t {
  Read,
  Write,
  Fill,    ///< irgen's write of the identity, before what groups fold
  Atomic,  ///< an update that those of other blocks do not disturb
  Fold,    ///< an update of a group, which counts after the next barrier
};
inline constexpr size_t kTouchKinds = 5;

/// Who runs: a block of an `spmd for`, or what one core runs outside of them. From 1 on, within one phase.
using AgentId = uint32_t;

/// What the watch knows of a tensor that blocks share.
struct Shadow;

/// Shadow memory of a launch, as racecheck has it: which blocks have touched each element since the last barrier, and which
/// elements nothing has written. It knows nothing of proofs, and nothing of which core runs a block, so that what it finds
/// does not depend on how blocks are dealt.
///
/// Two touches of an element in one phase, between barriers, are a race where one of them changes it, they are of two
/// agents, and not both are atomic or both fold. A fold and anything else are one even within a block.
///
/// The runs of a block are one agent where they are of one `spmd for` in one turn, or of one named domain whose bounds have
/// the same values: these run on one core, which the watch checks.
class Watch {
 public:
  explicit Watch(const ir::Function& kernel);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// A tensor of the launch, all of it written or nothing.
  Shadow* Add(const ir::Value* tensor, const TensorValue& memory, bool written);

  /// What the instruction does to the element at an address of a tensor that has a shadow. False, with the core stopped,
  /// where that is a mistake.
  bool Touch(Core& core, const Instruction& instruction, const TensorValue& tensor,
             const std::byte* address, TouchKind kind);

  /// A run of a store begins, which must not name an element twice.
  void BeginStore() { ++store_; }

  /// A barrier: what is after it is ordered with all before it.
  void NextPhase();

  /// At the launch's end: an element of an `out` that nothing has written.
  std::optional<Trap> Unwritten() const;

 private:
  /// What a block, or a core outside of them, is called in a report.
  struct Agent {
    const Instruction* walk = nullptr;  ///< null: what a core runs outside of blocks
    int64_t core = 0;
    int64_t iteration = 0;
    std::vector<int64_t> first;  ///< of each binder
    std::vector<int64_t> last;
  };
  /// A touch of the past.
  struct Mark {
    AgentId agent = 0;  ///< 0: none
    uint32_t site = 0;
  };
  struct KeyHash {
    size_t operator()(const std::vector<int64_t>& key) const;
  };
  friend struct Shadow;

  AgentId AgentOf(Core& core);
  AgentId Intern(Core& core, std::vector<int64_t> key, Agent agent);
  uint32_t SiteOf(const ir::Op* op);
  std::string NameOf(AgentId agent) const;
  std::string NameBeside(AgentId agent, AgentId other) const;
  void StopRace(Core& core, const ir::Op* op, AgentId agent, TouchKind kind, const Mark& mark,
                TouchKind before, const std::string& element) const;

  const ir::Function& kernel_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  uint32_t phase_ = 1;
  uint64_t store_ = 0;
  std::vector<Agent> agents_;
  std::unordered_map<std::vector<int64_t>, AgentId, KeyHash> agent_of_;
  std::vector<const ir::Op*> sites_;
  std::unordered_map<const ir::Op*, uint32_t> site_of_;
};

}  // namespace kdl::interp
