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

/// A tensor or an event of a program, numbered by the ProgramHost. No event: it has completed.
using TensorId = Id<struct HostTensorTag>;
using EventId = Id<struct HostEventTag>;
using WorkspaceId = Id<struct HostWorkspaceTag>;

struct AllocRequest {
  Name name;  ///< in the source
  Name device;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
};

struct TransferRequest {
  TensorId tensor;
  Name device;
  int64_t queue = 0;
  Name cause;
  bool fresh = false;  ///< the elements stay behind
  std::vector<EventId> after;
};

struct TransferResult {
  TensorId tensor;  ///< a tensor of its own, to be freed by itself, even where nothing moved
  EventId event;
};

struct CopyRequest {
  TensorId from;
  TensorId to;  ///< of the same element type
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

/// Another view of the memory of a tensor: its dimensions from the first element, `offset` elements on.
struct ViewRequest {
  TensorId tensor;
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

struct LaunchArgument {
  TensorId tensor;  ///< invalid: a scalar
  Scalar scalar = Scalar::F32;
  uint64_t bits = 0;
};

struct LaunchRequest {
  Name kernel;     ///< the function of the module: `matmul.f32`
  Name constants;  ///< "BM=64, BN=32"; empty: none
  Name device;
  int64_t queue = 0;
  std::optional<int64_t> core_num;  ///< none: as many as the device holds
  WorkspaceId workspace;            ///< invalid: one of the launch's own
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

/// What a program does to the world. The machine walks the program and asks for one thing at a
/// time; the operations may go on after the call returns, their events say when they have ended. A
/// Failure's sentence is the user's.
class ProgramHost {
 public:
  virtual ~ProgramHost() = default;
  virtual Result<TensorId> Alloc(const AllocRequest& request) = 0;
  /// The tensor's life ends once `after` has completed.
  virtual Status Free(TensorId tensor, const std::vector<EventId>& after) = 0;
  /// Fails unless the tensor lives in the device's memory; `name`: of the parameter.
  virtual Status Lives(TensorId tensor, Name device, Name name) = 0;
  /// Whether some elements of the two are in the same memory; of a tensor and itself: two of its elements.
  virtual Result<bool> Overlap(TensorId a, TensorId b) = 0;
  virtual Result<TransferResult> Transfer(const TransferRequest& request) = 0;
  /// The tensor lives on the device from here on.
  virtual Result<EventId> Relocate(const TransferRequest& request) = 0;
  /// As Copy, but nothing where both are the same tensor.
  virtual Result<EventId> CopyBack(const CopyRequest& request) = 0;
  virtual Result<EventId> Fill(const FillRequest& request) = 0;
  /// A tensor of its own, to be freed by itself; the memory lives as long as one of both.
  virtual TensorId View(const ViewRequest& request) = 0;
  /// Of a tensor, in elements.
  virtual std::vector<int64_t> Strides(TensorId tensor) const = 0;
  /// Fails where the sizes differ.
  virtual Result<EventId> Copy(const CopyRequest& request) = 0;
  /// An element, whose index is inside, once `after` has completed.
  virtual Result<uint64_t> Load(TensorId tensor, const std::vector<int64_t>& index,
                                const std::vector<EventId>& after) = 0;
  virtual Status Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
                       const std::vector<EventId>& after) = 0;
  /// Only tests ask for these two; a host that runs none refuses them.
  virtual Status Draw(TensorId tensor, uint64_t seed, const std::vector<EventId>& after);
  virtual Status Expect(const ExpectRequest& request);
  /// How many cores the device holds at once.
  virtual Result<int64_t> Cores(Name device) = 0;
  /// The end of all that the queue was given so far.
  virtual Result<EventId> Mark(Name device, int64_t queue) = 0;
  /// An empty workspace.
  virtual Result<WorkspaceId> MakeWorkspace(Name device, Name name) = 0;
  /// The bytes of workspace that an instance of a kernel takes; names as in a LaunchRequest.
  virtual Result<int64_t> Footprint(Name device, Name kernel, Name constants) = 0;
  /// The slices of workspace of a launch; none: on as many cores as the device holds.
  virtual Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) = 0;
  /// Makes the workspace hold instances * footprint bytes; fails where they are 2^63 or more.
  virtual Status Reserve(const ReserveRequest& request) = 0;
  virtual Result<EventId> Launch(const LaunchRequest& request) = 0;
};

}  // namespace kdl::interp
