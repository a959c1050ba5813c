#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/program_host.h"
#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::interp {

struct Shadow;

/// The run-time properties of one block of an axis.
struct BlockFacts {
  int64_t start = 0;
  int64_t size = 0;
  int64_t index = 0;
};

/// A tensor. Kernels access its memory; programs refer to it by the id that the ProgramHost has assigned.
struct TensorValue {
  std::byte* data = nullptr;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  ///< in elements
  TensorId id;
  Shadow* shadow = nullptr;  ///< null unless a watch checks accesses to the tensor
};

/// An element that a load has read.
struct ElementRead {
  const ir::Op* load = nullptr;
  std::vector<int64_t> index;
  uint64_t bits = 0;
};

class LaunchState;
class Workgroup;

struct CoreFacts {
  int64_t core_id = 0;
  int64_t core_num = 1;
  ProgramHost* host = nullptr;    ///< only for a program
  LaunchState* launch = nullptr;  ///< for a kernel: the state of its launch
  /// For a kernel: the workgroup that contains this machine's GPU thread.
  Workgroup* workgroup = nullptr;
  int64_t thread = 0;
};

enum class MachineState : uint8_t {
  Running,
  AtBarrier,           ///< continues when run again, after all cores of the launch have arrived
  AtWorkgroupBarrier,  ///< continues when run again, after all GPU threads have arrived
  AtMbarrier,          ///< continues when run again, after the mbarrier's phase has ended
  Done,
  Trapped,  ///< trap() returns the reason
  Failed,   ///< a request to a program's host failed; failure() returns how
  Broken,   ///< an error of the compiler or an invalid module; fault() returns a description
};

}  // namespace kdl::interp
