#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "interp/elements.h"
#include "ir/ring.h"

namespace kdl::interp {

/// A pipe of one core. Its ring buffer is in the core's slice of the workspace. If no pass has inserted a
/// pipe buffer yet, the ring is in the pipe's own memory.
class PipeState {
 public:
  /// Creates an empty ring in `memory`, or in the pipe's own memory if `memory` is null.
  PipeState(Name name, Scalar scalar, std::vector<int64_t> extents, ir::Ring ring,
            std::byte* memory);

  Name name() const { return name_; }
  const std::vector<int64_t>& extents() const { return extents_; }
  bool full() const { return Pushed() - Popped() == ring_.depth; }
  bool empty() const { return Pushed() == Popped(); }

  /// Clears the next free slot and returns it as a tensor with the pipe's extents.
  TensorValue Free() const;
  /// Returns the slot of the first tile that has not been popped.
  TensorValue First() const { return SlotAt(Popped()); }
  std::vector<int64_t> FirstSizes() const;

  void Commit(std::span<const int64_t> sizes);
  void Release();

 private:
  std::byte* Slot(int64_t number) const {
    return memory_ + ring_.header + number % ring_.depth * ring_.slot;
  }
  TensorValue SlotAt(int64_t number) const;
  int64_t Pushed() const { return Counter(ir::kRingPushed); }
  int64_t Popped() const { return Counter(ir::kRingPopped); }
  int64_t Counter(int64_t at) const;
  void SetCounter(int64_t at, int64_t value);

  Name name_;
  Scalar scalar_;
  std::vector<int64_t> extents_;
  ir::Ring ring_;
  /// The ring's memory if the caller does not provide any. Pages of unused slots are never touched.
  std::unique_ptr<std::byte[]> own_;
  std::byte* memory_;
};

void RunPipe(Core& core, Activation& here, const Instruction& instruction);
void RunPush(Core& core, Activation& here, const Instruction& instruction);
void RunPop(Core& core, Activation& here, const Instruction& instruction);
void RunAcquire(Core& core, Activation& here, const Instruction& instruction);
void RunCommit(Core& core, Activation& here, const Instruction& instruction);
void RunWait(Core& core, Activation& here, const Instruction& instruction);
void RunMatch(Core& core, Activation& here, const Instruction& instruction);
void RunRelease(Core& core, Activation& here, const Instruction& instruction);

}  // namespace kdl::interp
