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

/// Runs one function on one core, one op at each step, without recursion. It can be paused between any two
/// ops while other machines run. The image must outlive it.
class Machine {
 public:
  Machine(const Image& image, const CoreFacts& facts);
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // Set the function's parameters, sizes first, by their number. To be called before the first step.
  void BindScalar(size_t param, uint64_t bits);
  void BindTensor(size_t param, TensorValue tensor);
  /// Allocates memory that belongs to the machine, with unspecified contents.
  void BindWorkspace(size_t param, int64_t bytes);

  MachineState state() const;
  /// Executes at most `steps` ops. All states except Running and the three waiting states are final.
  MachineState RunSteps(int64_t steps);
  MachineState RunToEnd();

  const Trap& trap() const;
  const Failure& failure() const;
  const std::string& fault() const;
  /// What a fn or contract returned.
  const std::vector<uint64_t>& results() const;

  /// Returns the innermost `while` in execution, or null.
  const ir::Op* RunningWhile() const;
  /// Returns to the function's first op after it has ended. Its parameters stay bound.
  void Restart();
  /// From now on, adds the elements that scalar loads read to `reads`; null stops this.
  void RecordReads(std::vector<ElementRead>* reads);

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace kdl::interp
