#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/result.h"
#include "support/scalar.h"

namespace kdl::driver {

/// What happens to the checkpoints of a program when it runs.
struct CheckpointPlan {
  bool writes = false;
  /// The file with the checkpoint at which the program continues. Empty: it starts from the beginning.
  std::string resume;
  /// The name and the code of the program and its kernels. A checkpoint of another program is refused.
  std::string program;
};

/// A tensor of a checkpoint.
struct CheckpointTensor {
  std::string name;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  /// Called for rows of adjacent elements, with the number of the first one in row-major order. Stops at the first failure.
  using UseRow = std::function<Status(int64_t first, std::byte* row, size_t bytes)>;
  /// Calls the function for the elements that this process writes, and for those that it reads.
  std::function<Status(const UseRow& use)> for_written;
  std::function<Status(const UseRow& use)> for_read;
};

}  // namespace kdl::driver
