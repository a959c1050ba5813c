#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/code.h"
#include "interp/core_facts.h"
#include "interp/program_host.h"
#include "interp/trap.h"

namespace kdl::interp {

class Core;

/// Runs one function on one core, one op at each step, without recursion. The machine can be paused between
/// any two ops while other machines run. The image must outlive it.
class Machine {
 public:
  Machine(const Image& image, const CoreFacts& facts);
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // These functions set a parameter of the function by its index; sizes come first. They must be called
  // before the first step.
  void BindScalar(size_t param, uint64_t bits);
  void BindTensor(size_t param, TensorValue tensor);
  /// Binds a workspace. Its memory belongs to the machine and has unspecified contents.
  void BindWorkspace(size_t param, int64_t bytes);

  MachineState state() const;
  /// Executes at most `steps` ops. All states except Running and the three waiting states are final.
  MachineState RunSteps(int64_t steps);
  MachineState RunToEnd();

  const Trap& trap() const;
  const Failure& failure() const;
  const std::string& fault() const;
  /// Returns the results of a fn or contract.
  const std::vector<uint64_t>& results() const;

  /// Returns the innermost `while` that is being executed, or null if there is none.
  const ir::Op* RunningWhile() const;
  /// Returns the outermost loop that is being executed, or null if there is none.
  const ir::Op* OutermostLoop() const;
  /// Returns to the first op of the function after the function has ended. The parameters stay bound.
  void Restart();
  /// From now on, appends the elements that scalar loads read to `reads`. If `reads` is null, stops
  /// doing so.
  void RecordReads(std::vector<ElementRead>* reads);

  /// Returns the state of the machine, for code that executes single ops (core.h).
  Core& core() { return *core_; }

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace kdl::interp
