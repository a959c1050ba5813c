#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/common/compiled.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"

// What all generators of kernels whose cores are teams of workers decide alike: `include/kdl/workgroup_abi.h` says what such a
// kernel takes.

namespace kdl::codegen {

/// The name of a kernel's function; `number`: which one of its image it is.
std::string WorkgroupEntry(const ir::Function& kernel, size_t number);

/// Whether the kernel has such an op.
bool HasOp(const ir::Function& kernel, ir::OpKind kind);
/// Whether the op may stop the worker.
bool MayTrap(const ir::Op* op);
/// Whether the turns of a `while` are the parts of a launch between barriers of all its cores.
bool IsOfParts(const ir::Op* loop);

/// Of a loop of the team's from 0 on in which each worker has one turn at most: how many have; else nothing.
std::optional<int64_t> OneIterationOf(const ir::Function& kernel, const ir::Op* loop);

/// Of a buffer.
int64_t BytesOf(ir::Type buffer);

/// Where a buffer lies.
struct WorkgroupPlace {
  enum class Space : uint8_t {
    Own,        ///< each worker's own
    Workgroup,  ///< the team's, in memory near its workers
    Global,     ///< the team's, in the core's scratch
    GlobalOwn,  ///< in scratch the workers' own ones side by side, element by element
  };
  Space space = Space::Own;
  int64_t offset = 0;  ///< in scratch
};

/// Deals out a core's memory, in the order in which it is asked. Where a launch is called once for each part between barriers of
/// all its cores, what outlives a part lies in scratch.
class WorkgroupLayout {
 public:
  WorkgroupLayout(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes)
      : kernel_(kernel),
        code_(code),
        workgroup_bytes_(workgroup_bytes),
        syncs_(HasOp(kernel, ir::OpKind::Sync)) {}

  /// Takes what is no buffer.
  void ReserveWorkgroupMemory(int64_t bytes) { workgroup_bytes_ -= bytes; }
  WorkgroupPlace PlaceOf(const ir::Value* buffer);
  /// A number that each worker keeps from one part to the next: offset of worker 0's, next to which those of the others lie.
  int64_t KeptPlace(Scalar scalar);

 private:
  WorkgroupPlace InScratch(WorkgroupPlace::Space space, int64_t bytes);

  const ir::Function& kernel_;
  KernelCode& code_;
  int64_t workgroup_bytes_;
  bool syncs_;  ///< so buffers outlive a call, but for brief ones
};

}  // namespace kdl::codegen
