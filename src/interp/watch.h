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
  Fill,    ///< irgen's write of the identity before groups reduce into the element
  Atomic,  ///< an update that is not disturbed by those of other blocks
  Fold,    ///< an update of a group, which takes effect after the next barrier
};
inline constexpr size_t kTouchKinds = 5;

/// Who is executing: a block of an `spmd for`, or a core outside of these. Numbered from 1 within one phase.
using AgentId = uint32_t;

/// What is recorded for a tensor that blocks share.
struct Shadow;

/// Shadow memory of a launch, as in CUDA's racecheck: which blocks have accessed each element since the last
/// barrier, and which elements nothing has written. It does not depend on proofs, or on which core executes a
/// block, so its findings do not depend on how blocks are distributed.
///
/// Two accesses to an element in one phase (between two barriers) are a race if one of them changes it and
/// they belong to different agents. They are not a race if both are atomic or both are updates of groups. A
/// group's update and any other kind of access are an error even within one block.
///
/// Executions of a block are one agent if they belong to one execution of an `spmd for`, or to spmds over one
/// named domain with equal bounds: these run on the same core, which is checked.
class Watch {
 public:
  Watch(const ir::Function& kernel, Sanitizers sanitizers);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();

  /// Adds a tensor of the launch; either all or none of it is written.
  Shadow* Add(const ir::Value* tensor, const TensorValue& memory, bool written);

  /// Records an access to the element at an address of a tensor with a shadow. Returns false and stops the
  /// core if it is an error.
  bool Touch(Core& core, const Instruction& instruction, const TensorValue& tensor,
             const std::byte* address, TouchKind kind);

  /// Starts the execution of a store, which must not write an element twice.
  void BeginStore() { ++store_; }

  /// A barrier: accesses after it are ordered after all accesses before it.
  void NextPhase();

  /// At the end of the launch: returns a trap if an `out` has an element that nothing has written, and this
  /// is looked for.
  std::optional<Trap> Unwritten() const;

 private:
  /// What a block, or a core outside of blocks, is called in a report.
  struct Agent {
    const Instruction* walk = nullptr;  ///< null: a core outside of blocks
    int64_t core = 0;
    int64_t iteration = 0;
    std::vector<int64_t> first;  ///< the first index of each binder
    std::vector<int64_t> last;
  };
  /// An earlier access.
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
