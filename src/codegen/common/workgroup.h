#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/common/compiled.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"

// Decisions that all generators of kernels whose cores are workgroups share. `include/kdl/workgroup_abi.h`
// describes the parameters of such kernels.

namespace kdl::codegen {

/// Returns the name of a kernel's function. `number` is the kernel's number in its image.
std::string WorkgroupEntry(const ir::Function& kernel, size_t number);

/// Returns whether the kernel contains an op of this kind.
bool HasOp(const ir::Function& kernel, ir::OpKind kind);
/// Returns whether the op may stop the thread.
bool MayTrap(const ir::Op* op);
/// Returns whether the iterations of a `while` are the parts of a launch between barriers of all its cores.
bool IsOfParts(const ir::Op* loop);

/// Returns the number of threads that have an iteration of a workgroup loop, if the loop counts up from 0
/// and each thread has at most one. Otherwise returns nothing.
std::optional<int64_t> OneIterationOf(const ir::Function& kernel, const ir::Op* loop);

/// Returns the size of a buffer in bytes.
int64_t SizeInBytes(ir::Type buffer);

/// Where a buffer is allocated.
struct WorkgroupPlace {
  enum class Space : uint8_t {
    Own,        ///< each thread's own
    Workgroup,  ///< shared by the workgroup, in workgroup memory
    Global,     ///< shared by the workgroup, in the core's scratch
    GlobalOwn,  ///< each thread's own, interleaved by element in the core's scratch
  };
  Space space = Space::Own;
  int64_t offset = 0;  ///< offset in scratch
};

/// Allocates a core's memory, in the order of the requests. If a launch calls the kernel once for each part
/// between barriers of all its cores, buffers that outlive a part are placed in scratch.
class WorkgroupLayout {
 public:
  WorkgroupLayout(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes)
      : kernel_(kernel),
        code_(code),
        workgroup_bytes_(workgroup_bytes),
        syncs_(HasOp(kernel, ir::OpKind::Sync)) {}

  /// Reserves workgroup memory for something other than a buffer.
  void ReserveWorkgroupMemory(int64_t bytes) { workgroup_bytes_ -= bytes; }
  WorkgroupPlace PlaceBuffer(const ir::Value* buffer);
  /// Reserves scratch for a number that each thread keeps from one part to the next. Returns the offset of
  /// thread 0's number; the numbers of the other threads follow it.
  int64_t KeptPlace(Scalar scalar);

 private:
  WorkgroupPlace InScratch(WorkgroupPlace::Space space, int64_t bytes);

  const ir::Function& kernel_;
  KernelCode& code_;
  int64_t workgroup_bytes_;
  bool syncs_;  ///< it has launch barriers, so all but brief buffers outlive a call
};

}  // namespace kdl::codegen
