#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/common/compiled.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"

// Decisions that are shared by all code generators for kernels whose cores are workgroups of GPU threads.
// `include/kdl/workgroup_abi.h` describes the parameters of such kernels.

namespace kdl::codegen {

/// Returns the name of a kernel's function. `number` is the position of the kernel in its image.
std::string WorkgroupEntry(const ir::Function& kernel, size_t number);

/// Returns whether the kernel contains an op of this kind.
bool HasOp(const ir::Function& kernel, ir::OpKind kind);
/// Returns whether the op may trap, which stops the thread.
bool MayTrap(const ir::Op* op);
/// Returns whether a `while` loop contains a grid-wide barrier, which synchronizes all cores of a launch. If
/// so, each iteration of the loop is one part of the launch.
bool IsOfParts(const ir::Op* loop);

/// If a workgroup loop, whose iterations are distributed to threads, counts up from 0 and gives each thread
/// at most one iteration, returns the number of iterations. Otherwise returns nothing.
std::optional<int64_t> OneIterationOf(const ir::Function& kernel, const ir::Op* loop);

/// Returns the size of a buffer in bytes.
int64_t SizeInBytes(ir::Type buffer);

/// Where a buffer is allocated.
struct WorkgroupPlace {
  enum class Space : uint8_t {
    Own,        ///< private to each thread
    Workgroup,  ///< shared by the workgroup, in workgroup memory
    Global,     ///< shared by the workgroup, in the core's scratch
    GlobalOwn,  ///< private to each thread, in the core's scratch, interleaved by element
  };
  Space space = Space::Own;
  int64_t offset = 0;  ///< offset in scratch
};

/// Allocates the memory of a core, in the order of the requests. If the kernel has grid-wide barriers, a
/// launch calls the kernel once for each part between barriers. In that case, buffers that outlive a part are
/// placed in scratch memory.
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
  /// Reserves scratch memory for a number that each thread keeps from one part of the launch to the next.
  /// Returns the offset of thread 0's number, after which the numbers of the other threads follow.
  int64_t KeptPlace(Scalar scalar);

 private:
  WorkgroupPlace InScratch(WorkgroupPlace::Space space, int64_t bytes);

  const ir::Function& kernel_;
  KernelCode& code_;
  int64_t workgroup_bytes_;
  /// Whether the kernel has grid-wide barriers. If so, buffers without the attribute `brief` outlive a call
  /// of the kernel.
  bool syncs_;
};

}  // namespace kdl::codegen
