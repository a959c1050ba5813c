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
#include "support/sanitizers.h"

namespace kdl::interp {

class Core;
struct TensorValue;

/// The kind of an access to an element.
enum class TouchKind : uint8_t {
  Read,
  Write,
  Fill,    ///< the write of the identity that irgen inserts before groups reduce into the element
  Atomic,  ///< an atomic update, which updates of other blocks do not disturb
  Fold,    ///< an update of a group, which takes effect after the next barrier
};
inline constexpr size_t kTouchKinds = 5;

/// Identifies an agent, that is, who accesses elements: a block of an `spmd for`, or a core outside of
/// blocks. Agents are numbered from 1 within one phase.
using AgentId = uint32_t;

/// The record of accesses to a tensor that blocks share.
struct Shadow;

/// Shadow memory of a launch, as in CUDA's racecheck. It records which blocks have accessed each element
/// since the last barrier, and which elements nothing has written. It depends neither on proofs nor on
/// which core executes a block, so its findings do not depend on how blocks are distributed.
///
/// Two accesses to an element in one phase (between two barriers) are a race if one of them changes the
/// element and they belong to different agents. They are not a race if both are atomic or both are updates
/// of groups. A group's update and any other kind of access are an error even within one block.
///
/// Executions of a block are one agent if they belong to one execution of an `spmd for`. They are also one
/// agent if they belong to spmds over one named domain with equal bounds: a check ensures that these
/// executions run on the same core.
class Watch {
 public:
  Watch(const ir::Function& kernel, Sanitizers sanitizers);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// Adds a tensor of the launch. `written` says whether all of its elements have been written before; if it
  /// is false, none of them has been written.
  Shadow* Add(const ir::Value* tensor, const TensorValue& memory, bool written);

  /// Returns which elements of a tensor have been read, in the order of memory.
  static std::vector<bool> ReadElements(const Shadow& shadow);

  /// Records an access to the element at `address` of a tensor with a shadow. If the access is an error,
  /// stops the core and returns false.
  bool Touch(Core& core, const Instruction& instruction, const TensorValue& tensor,
             const std::byte* address, TouchKind kind);

  /// Starts the execution of a store, which must not write an element twice.
  void BeginStore() { ++store_; }

  /// Starts a new phase at a barrier: all accesses in it come after all earlier accesses.
  void NextPhase();

  /// At the end of the launch: returns a trap if an `out` tensor has an element that nothing has written.
  /// Returns nothing if this check was not requested.
  std::optional<Trap> Unwritten() const;

 private:
  /// The description of a block, or of a core outside of blocks, in a report.
  struct Agent {
    const Instruction* walk = nullptr;  ///< null for a core outside of blocks
    int64_t core = 0;
    int64_t iteration = 0;
    std::vector<int64_t> first;  ///< the first index of each binder
    std::vector<int64_t> last;
  };
  /// An earlier access to an element.
  struct Mark {
    AgentId agent = 0;  ///< 0 if there was no such access
    uint32_t site = 0;
  };
  struct KeyHash {
    size_t operator()(const std::vector<int64_t>& key) const;
  };
  friend struct Shadow;

  AgentId AgentOf(Core& core);
  AgentId Intern(Core& core, std::vector<int64_t> key, Agent agent);
  uint32_t SiteOf(const ir::Op* op);
  std::string AgentName(AgentId agent) const;
  std::string NameNextTo(AgentId agent, AgentId other) const;
  void StopRace(Core& core, const ir::Op* op, AgentId agent, TouchKind kind, const Mark& mark,
                TouchKind before, const std::string& element) const;

  const ir::Function& kernel_;
  Sanitizers sanitizers_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  uint32_t phase_ = 1;
  uint64_t store_ = 0;
  std::vector<Agent> agents_;
  std::unordered_map<std::vector<int64_t>, AgentId, KeyHash> agent_of_;
  std::vector<const ir::Op*> sites_;
  std::unordered_map<const ir::Op*, uint32_t> site_of_;
};

}  // namespace kdl::interp
