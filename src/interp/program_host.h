#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "interp/code.h"
#include "ir/op.h"
#include "kdl/rank_boxes.hpp"
#include "support/id.h"
#include "support/names.h"
#include "support/result.h"
#include "support/scalar.h"

namespace kdl::interp {

/// These ids identify the tensors, events and workspaces of a program. The ProgramHost assigns them. An
/// invalid EventId means an event that has already occurred.
using TensorId = Id<struct HostTensorTag>;
using EventId = Id<struct HostEventTag>;
using WorkspaceId = Id<struct HostWorkspaceTag>;

struct AllocRequest {
  Name name;  ///< the name of the tensor in the source
  Name device;
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> sizes;
  /// For each dimension, the axis of the grid of ranks along which it is distributed, kAllRanks, or -1. Empty if the tensor is not
  /// distributed; otherwise each rank of the device gets a memory of its own.
  std::vector<int64_t> rank_axes;
  /// For each dimension, the length of the blocks in which it is distributed, or 0 if ranks own adjacent indices. Empty if
  /// all are 0.
  std::vector<int64_t> rank_blocks = {};
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
  TensorId tensor;  ///< a separate tensor, which must be freed even if nothing was moved
  EventId event;
};

struct CopyRequest {
  TensorId from;
  TensorId to;  ///< must have the same element type as `from`
  Name device;
  int64_t queue = 0;
  Name cause;  ///< why the data is needed, for messages; empty if the source says `copy`
  std::vector<EventId> after;
};

struct FillRequest {
  TensorId tensor;
  uint64_t bits = 0;
  Name device;
  int64_t queue = 0;
  std::vector<EventId> after;
};

/// Requests a view of a tensor's memory that starts `offset` elements after the tensor's first element.
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
  std::optional<int64_t> core_num;  ///< if empty, as many cores as the device can run at once
  WorkspaceId workspace;            ///< if invalid, the launch allocates its own workspace
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
  Symbols sizes;  ///< the sizes that the test has bound
  std::vector<LaunchArgument> arguments;
  std::vector<EventId> after;
};

/// The ranks of a device, and those that belong to this process: first .. end - 1.
struct RankCounts {
  int64_t count = 1;
  int64_t first = 0;
  int64_t end = 1;
};

using IndexPart = ranks::Indices;

/// Requests a rank's part of a dimension of this size that is distributed along an axis of the grid of ranks.
struct OwnedRequest {
  Name device;
  int64_t size = 0;
  int64_t rank = 0;
  int64_t axis = 0;  ///< or kAllRanks
};

/// Requests a rank's blocks of a dimension that is distributed in blocks of this length.
struct OwnedBlocksRequest {
  OwnedRequest dimension;
  int64_t length = 1;
};

/// Requests elements of a distributed tensor for a rank: those with these indices in each dimension.
struct FetchRequest {
  TensorId tensor;
  int64_t rank = 0;
  std::vector<IndexPart> needed;
  Name device;
  Name cause;
  std::vector<EventId> after;
};

struct RewrittenRequest {
  TensorId tensor;
  Name device;
  std::vector<EventId> after;
};

/// The numbers and tensors of a checkpoint, with their names in the source.
struct CheckpointRequest {
  struct Number {
    Name name;
    Scalar scalar = Scalar::I64;
    uint64_t bits = 0;
  };
  Name path;
  std::vector<Number> numbers;
  std::vector<std::pair<Name, TensorId>> tensors;
  std::vector<EventId> after;
  /// How often the program writes the checkpoint: at each execution whose number is a multiple of this one. 0 in requests to
  /// restore it.
  int64_t every = 0;
};

/// Executes the effects of a program. The machine that runs the program makes one request after another. An
/// operation may continue after its call returns; its event tells when the operation has ended. The message
/// of a Failure is meant for the user.
class ProgramHost {
 public:
  virtual ~ProgramHost() = default;
  virtual Result<TensorId> Alloc(const AllocRequest& request) = 0;
  /// Frees the tensor after all events in `after` have occurred.
  virtual Status Free(TensorId tensor, const std::vector<EventId>& after) = 0;
  /// Fails unless the tensor is in the device's memory. `name` is the name of the program's parameter.
  virtual Status Lives(TensorId tensor, Name device, Name name) = 0;
  /// Returns whether two tensors share the memory of some elements. If `a` and `b` are the same tensor,
  /// returns whether two of its elements share memory.
  virtual Result<bool> Overlap(TensorId a, TensorId b) = 0;
  virtual Result<TransferResult> Transfer(const TransferRequest& request) = 0;
  /// Moves the tensor to the device. The tensor stays there afterwards.
  virtual Result<EventId> Relocate(const TransferRequest& request) = 0;
  /// Like Copy, but does nothing if source and target are the same tensor.
  virtual Result<EventId> CopyBack(const CopyRequest& request) = 0;
  virtual Result<EventId> Fill(const FillRequest& request) = 0;
  /// Returns the view as a tensor of its own, which must be freed, too. The memory exists until both the view
  /// and the original tensor have been freed.
  virtual TensorId View(const ViewRequest& request) = 0;
  /// Returns the strides of a tensor, in elements.
  virtual std::vector<int64_t> Strides(TensorId tensor) const = 0;
  /// Copies the elements of one tensor to another. Fails if the sizes differ.
  virtual Result<EventId> Copy(const CopyRequest& request) = 0;
  /// Loads an element after all events in `after` have occurred. The index must be in bounds.
  virtual Result<uint64_t> Load(TensorId tensor, const std::vector<int64_t>& index,
                                const std::vector<EventId>& after) = 0;
  virtual Status Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
                       const std::vector<EventId>& after) = 0;
  /// The next two requests are made only by tests. A host that does not run tests refuses them.
  virtual Status Draw(TensorId tensor, uint64_t seed, const std::vector<EventId>& after);
  virtual Status Expect(const ExpectRequest& request);
  /// Returns the number of cores that the device can run at once.
  virtual Result<int64_t> Cores(Name device) = 0;
  /// The next requests concern the ranks of a device. A host that does not distribute anything has one rank, which owns
  /// everything.
  virtual RankCounts Ranks(Name) const { return {}; }
  /// Returns the indices that a rank owns.
  virtual IndexPart Owned(const OwnedRequest& request) const { return {0, request.size}; }
  /// If the dimension is distributed in blocks, return how many of them the rank owns, and the indices in one of them. A rank
  /// that owns everything has one block.
  virtual int64_t CountOwnedBlocks(const OwnedBlocksRequest& request) const {
    return request.dimension.size > 0 ? 1 : 0;
  }
  virtual IndexPart OwnedBlock(const OwnedBlocksRequest& request, int64_t) const {
    return {0, request.dimension.size};
  }
  /// Returns the memory of one of this process's ranks. It belongs to the tensor and must not be freed.
  virtual TensorId RankMemory(TensorId tensor, int64_t) { return tensor; }
  /// Requests the elements that the rank neither owns nor has received since they were written. FinishFetches sends all
  /// elements that have been requested since its last call.
  virtual Status Fetch(const FetchRequest&) { return {}; }
  virtual Status FinishFetches(Name) { return {}; }
  /// The ranks forget what they have received of the tensor, except for what was requested since the last FinishFetches.
  virtual Status Rewritten(const RewrittenRequest&) { return {}; }
  /// Writes a checkpoint if it is time for it.
  virtual Status Checkpoint(const CheckpointRequest&) { return {}; }
  /// If the program continues at this checkpoint, reads its tensors, and replaces the numbers by those in the file.
  virtual Status Restore(CheckpointRequest&) { return {}; }
  /// Returns an event that occurs when everything submitted to the queue so far has ended.
  virtual Result<EventId> Mark(Name device, int64_t queue) = 0;
  /// Returns a new workspace, which is empty.
  virtual Result<WorkspaceId> MakeWorkspace(Name device, Name name) = 0;
  /// Returns how many bytes of workspace one instance of a kernel needs. The names mean the same as in a
  /// LaunchRequest.
  virtual Result<int64_t> Footprint(Name device, Name kernel, Name constants) = 0;
  /// Returns the number of instances in a launch that need a slice of the workspace. Without `core_num`,
  /// the launch uses all cores of the device.
  virtual Result<int64_t> Instances(Name device, std::optional<int64_t> core_num) = 0;
  /// Resizes the workspace to instances * footprint bytes. Fails if this is 2^63 or more.
  virtual Status Reserve(const ReserveRequest& request) = 0;
  virtual Result<EventId> Launch(const LaunchRequest& request) = 0;
};

}  // namespace kdl::interp
