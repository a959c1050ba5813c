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

/// Runs one function on one core, one op a step, without recursion: between any two ops it can be
/// left alone, and other machines run. The image must outlive it.
class Machine {
 public:
  Machine(const Image& image, const CoreFacts& facts);
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;
  ~Machine();

  // The function's parameters, sizes first, by their number; before the first step.
  void BindScalar(size_t param, uint64_t bits);
  void BindTensor(size_t param, TensorValue tensor);
  /// Memory of the machine's own, its contents unspecified.
  void BindWorkspace(size_t param, int64_t bytes);

  MachineState state() const;
  /// At most `steps` ops; a state other than Running and AtBarrier is final.
  MachineState Run(int64_t steps);
  MachineState RunToEnd();

  const Trap& trap() const;
  const Failure& failure() const;
  const std::string& fault() const;
  /// What a fn or contract returned.
  const std::vector<uint64_t>& results() const;

  /// The innermost `while` that runs; null: none does.
  const ir::Op* RunningWhile() const;
  /// Back to the function's first op, once it has ended: its parameters stay bound.
  void Restart();
  /// From here on elements that scalar loads read are added; null: they are not.
  void RecordReads(std::vector<ElementRead>* reads);

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace kdl::interp
