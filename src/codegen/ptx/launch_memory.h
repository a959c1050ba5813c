#pragma once

#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "ir/module.h"

namespace kdl::codegen::ptx {

/// A condition on a launch: its size number `size` is in `least` .. `most`, both included.
struct SizeRange {
  int64_t size;
  int64_t least;
  int64_t most;
  bool operator==(const SizeRange&) const = default;
};
using SizeRanges = std::vector<SizeRange>;

/// When launches execute an op.
struct Conditions {
  SizeRanges ranges;  ///< what `if`s around the op require of sizes; at most one for each size
  /// The `if`s around the op that choose the same branch in the whole launch, each with the number of the branch that
  /// contains the op.
  std::vector<std::pair<const ir::Op*, size_t>> branches;

  bool operator==(const Conditions&) const = default;
  /// Returns whether no launch executes both ops.
  bool Exclude(const Conditions& other) const;
};

Conditions ConditionsAround(const ir::Function& kernel, const ir::Op* op);

/// Assigns offsets to buffers in the workgroup memory that a launch provides. Launches provide no memory for buffers that
/// they cannot use, and buffers that no launch uses together share memory.
class LaunchMemory {
 public:
  /// The bytes that launches whose sizes are in the ranges need.
  struct Need {
    int64_t bytes;
    SizeRanges ranges;
  };

  /// Adds a buffer. `place` is an instruction whose last operand is to be the buffer's offset in bytes.
  void Add(llvm::GetElementPtrInst* place, int64_t bytes, const Conditions& conditions);
  /// Returns whether the buffer of an op can share memory with a buffer that has been added.
  bool CanShare(const Conditions& conditions) const;
  bool empty() const { return parts_.empty(); }
  /// Returns the offset of a buffer that every launch needs.
  int64_t Reserve(int64_t bytes, int64_t alignment);
  /// Sets the offsets of all added buffers. A launch must provide the largest of the needs that apply to it. The first
  /// one applies to all launches.
  std::vector<Need> Finish();

 private:
  struct Part {
    Conditions conditions;
    std::vector<std::pair<llvm::GetElementPtrInst*, int64_t>> buffers;
    int64_t end = 0;
  };

  int64_t reserved_ = 0;
  std::vector<Part> parts_;
};

}  // namespace kdl::codegen::ptx
