#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/program_host.h"
#include "ir/op.h"
#include "support/scalar.h"

namespace kdl::interp {

struct Shadow;

/// The run-time facts of one block of an axis.
struct BlockFacts {
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
class Workgroup;

struct CoreFacts {
  int64_t core_id = 0;
  int64_t core_num = 1;
  ProgramHost* host = nullptr;     ///< of a program
  LaunchState* launch = nullptr;   ///< of a kernel's launch
  Workgroup* workgroup = nullptr;  ///< of a kernel's core, whose worker this machine is
  int64_t thread = 0;
};

enum class MachineState : uint8_t {
  Running,
  AtBarrier,           ///< goes on with its next run: when all cores of the launch have come so far
  AtWorkgroupBarrier,  ///< goes on with its next run: when all workers of the core have come so far
  AtMbarrier,          ///< goes on with its next run: when the gate's phase is over
  Done,
  Trapped,  ///< trap() says why
  Failed,   ///< a program's host failed: failure() says how
  Broken,   ///< the compiler's mistake, or a wrong module: fault() says which
};

}  // namespace kdl::interp
