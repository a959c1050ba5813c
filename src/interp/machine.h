#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "interp/code.h"
#include "interp/program_host.h"
#include "interp/trap.h"

namespace kdl::interp {

struct Shadow;

/// The run-time facts of one block of an axis.
struct BlkFacts {
  int64_t start = 0;
  int64_t size = 0;
  int64_t index = 0;
};

/// A tensor: memory in kernels, a number of the ProgramHost in programs.
struct TensorValue {
  std::byte* data = nullptr;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< in elements
  TensorId id;
  Shadow* shadow = nullptr;  ///< where a watch looks at what is done to it
};

/// An element that a load has read.
struct ElementRead {
  const ir::Op* load = nullptr;
  std::vector<int64_t> index;
  uint64_t bits = 0;
};

class LaunchState;
class Team;

struct CoreFacts {
  int64_t core_id = 0;
  int64_t core_num = 1;
  ProgramHost* host = nullptr;    ///< of a program
  LaunchState* launch = nullptr;  ///< of a kernel's launch
  Team* team = nullptr;           ///< of a kernel's core, whose worker this machine is
  int64_t worker = 0;
};

enum class MachineState : uint8_t {
  Running,
  AtBarrier,      ///< goes on with its next run: when all cores of the launch have come so far
  AtTeamBarrier,  ///< goes on with its next run: when all workers of the core have come so far
  AtGate,         ///< goes on with its next run: when the gate's phase is over
  Done,
  Trapped,  ///< trap() says why
  Failed,   ///< a program's host failed: failure() says how
  Broken,   ///< the compiler's mistake, or a wrong module: fault() says which
};

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
