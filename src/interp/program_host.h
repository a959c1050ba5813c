#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "interp/code.h"
#include "ir/op.h"
#include "support/id.h"
#include "support/names.h"
#include "support/result.h"
#include "support/scalar.h"

namespace kdl::interp {

/// A tensor or an event of a program, numbered by the ProgramHost. An invalid event has already occurred.
using TensorId = Id<struct HostTensorTag>;
using EventId = Id<struct HostEventTag>;
using WorkspaceId = Id<struct HostWorkspaceTag>;

struct AllocRequest {
  Name name;  ///< its name in the source
  Name device;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
};

struct TransferRequest {
  TensorId tensor;
  Name device;
  int64_t queue = 0;
  Name cause;
  bool fresh = false;  ///< the elements are not copied
  std::vector<EventId> after;
};

struct TransferResult {
  TensorId tensor;  ///< a separate tensor that must be freed, even if nothing was moved
  EventId event;
};

struct CopyRequest {
  TensorId from;
  TensorId to;  ///< must have the same element type
  Name device;
  int64_t queue = 0;
  Name cause;  ///< empty: the source says `copy`
  std::vector<EventId> after;
};

struct FillRequest {
  TensorId tensor;
  uint64_t bits = 0;
  Name device;
  int64_t queue = 0;
  std::vector<EventId> after;
};

/// Another view of the memory of a tensor, starting `offset` elements after its first.
struct ViewRequest {
  TensorId tensor;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

struct LaunchArgument {
  TensorId tensor;  ///< invalid for a scalar
  Scalar scalar = Scalar::F32;
  uint64_t bits = 0;
};

struct LaunchRequest {
  Name kernel;     ///< a function of the module, such as `matmul.f32`
  Name constants;  ///< such as "BM=64, BN=32"; empty if there are none
  Name device;
  int64_t queue = 0;
  std::optional<int64_t> core_num;  ///< if empty, as many as the device can run at once
  WorkspaceId workspace;            ///< if invalid, the launch has its own
  std::vector<LaunchArgument> arguments;
  std::vector<EventId> after;
};

struct ReserveRequest {
  WorkspaceId workspace;
  int64_t instances = 0;
  int64_t footprint = 0;
};

struct ExpectRequest {
  int64_t contract = 0;
  Symbols sizes;  ///< that the test has bound
  std::vector<LaunchArgument> arguments;
  std::vector<EventId> after;
};

/// Executes the effects of a program. The machine runs the program and makes one request at a time. An
/// operation may continue after the call returns; its event tells when it has ended. The message of a Failure
/// is for the user.
class ProgramHost {
 public:
  virtual ~ProgramHost() = default;
  virtual Result<TensorId> Alloc(const AllocRequest& request) = 0;
  /// Ends the tensor's life after `after` has occurred.
  virtual Status Free(TensorId tensor, const std::vector<EventId>& after) = 0;
  /// Fails unless the tensor is in the device's memory. `name` is that of the parameter.
  virtual Status Lives(TensorId tensor, Name device, Name name) = 0;
  /// Returns whether two tensors share memory of some elements. For a tensor and itself, whether two of its
  /// elements do.
  virtual Result<bool> Overlap(TensorId a, TensorId b) = 0;
  virtual Result<TransferResult> Transfer(const TransferRequest& request) = 0;
  /// Moves the tensor to the device, where it is from then on.
  virtual Result<EventId> Relocate(const TransferRequest& request) = 0;
  /// Like Copy, but does nothing if both are the same tensor.
  virtual Result<EventId> CopyBack(const CopyRequest& request) = 0;
  virtual Result<EventId> Fill(const FillRequest& request) = 0;
  /// Returns a separate tensor that must be freed; the memory lives as long as either of them.
  virtual TensorId View(const ViewRequest& request) = 0;
  /// Returns the strides of a tensor, in elements.
  virtual std::vector<int64_t> Strides(TensorId tensor) const = 0;
  /// Fails if the sizes differ.
  virtual Result<EventId> Copy(const CopyRequest& request) = 0;
  /// Loads an element after `after` has occurred. The index must be inside.
  virtual Result<uint64_t> Load(TensorId tensor, const std::vector<int64_t>& index,
                                const std::vector<EventId>& after) = 0;
  virtual Status Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
                       const std::vector<EventId>& after) = 0;
  /// Only tests make these two requests; a host that does not run tests refuses them.
  virtual Status Draw(TensorId tensor, uint64_t seed, const std::vector<EventId>& after);
  virtual Status Expect(const ExpectRequest& request);
  /// Returns how many cores the device can run at once.
  virtual Result<int64_t> Cores(Name device) = 0;
  /// Returns an event for the end of everything submitted to the queue so far.
  virtual Result<EventId> Mark(Name device, int64_t queue) = 0;
  /// Creates an empty workspace.
  virtual Result<WorkspaceId> MakeWorkspace(Name device, Name name) = 0;
  /// Returns the bytes of workspace that an instance of a kernel needs; the names are as in a LaunchRequest.
  virtual Result<int64_t> Footprint(Name device, Name kernel, Name constants) = 0;
  /// Returns how many instances need a slice of a launch's workspace. Without core_num, the launch uses all
  /// cores of the device.
  virtual Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) = 0;
  /// Resizes the workspace to instances * footprint bytes; fails if they are 2^63 or more.
  virtual Status Reserve(const ReserveRequest& request) = 0;
  virtual Result<EventId> Launch(const LaunchRequest& request) = 0;
};

}  // namespace kdl::interp
