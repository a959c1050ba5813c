#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "driver/run/checkpoint.h"
#include "driver/run/executor.h"

// The checkpoints of a program. A process writes and reads what its ranks own of a distributed tensor.

namespace kdl::driver {

using interp::TensorId;

namespace {

/// Calls `use` for each row of adjacent elements of a box. `data` is the address of the first element of the view, and `first`
/// its number in row-major order.
Status ForEachRow(const kdl_tensor& view, const Box& box, int32_t dimension, std::byte* data,
                  int64_t first, const CheckpointTensor::UseRow& use) {
  const int64_t bytes = view.element_bits / 8;
  if (dimension == view.rank) return use(first, data, static_cast<size_t>(bytes));
  const Indices& indices = box[static_cast<size_t>(dimension)];
  int64_t stride = 1;
  for (int32_t d = dimension + 1; d < view.rank; ++d) stride *= view.size[d];
  bool is_row = dimension == view.rank - 1 && view.stride[dimension] == 1;
  if (is_row)
    return use(first + indices.first, data + indices.first * bytes,
               static_cast<size_t>((indices.end - indices.first) * bytes));
  Status done;
  for (int64_t i = indices.first; done.ok() && i < indices.end; ++i)
    done = ForEachRow(view, box, dimension + 1, data + i * view.stride[dimension] * bytes,
                      first + i * stride, use);
  return done;
}

/// Calls `use` for the rows of boxes of an array.
Status WithParts(const kdl_array& array, kdl_map_access access, const std::vector<Box>& boxes,
                 const CheckpointTensor::UseRow& use) {
  if (boxes.empty()) return {};
  const auto* base = static_cast<const char*>(kdl_buffer_address(array.buffer));
  const int64_t offset = static_cast<const char*>(array.view.data) - base;
  void* data = nullptr;
  if (Status mapped = StatusOf(kdl_buffer_map(array.buffer, access, &data)); !mapped.ok())
    return mapped;
  Status done;
  for (const Box& box : boxes) {
    if (done.ok() && !IsEmpty(box))
      done = ForEachRow(array.view, box, 0, static_cast<std::byte*>(data) + offset, 0, use);
  }
  Status unmapped = StatusOf(kdl_buffer_unmap(array.buffer));
  return done.ok() ? unmapped : done;
}

}  // namespace

Status Executor::ForRows(TensorId tensor, bool writes, const CheckpointTensor::UseRow& use) const {
  kdl_map_access access = writes ? KDL_MAP_READ : KDL_MAP_READ_WRITE;
  auto distributed = ownerships_.find(tensor.value);
  if (distributed == ownerships_.end()) {
    if (writes && transport_ && transport_->rank != 0) return {};
    const kdl_tensor& view = array(tensor).view;
    Box whole = WholeBox({view.size, view.size + view.rank});
    return WithParts(array(tensor), access, {whole}, use);
  }
  const Ownership& ownership = distributed->second;
  const std::vector<TensorId>& memories = memories_.at(tensor.value);
  Status done;
  for (size_t i = 0; done.ok() && i < memories.size(); ++i) {
    int64_t rank = kdl_ranks_first(ranks_.get()) + static_cast<int64_t>(i);
    if (writes && !ownership.IsFirstOwner(rank)) continue;
    done = WithParts(array(memories[i]), access, ownership.Owned(rank), use);
  }
  return done;
}

std::vector<CheckpointTensor> Executor::TensorsOf(const interp::CheckpointRequest& request) const {
  std::vector<CheckpointTensor> tensors;
  for (const auto& [name, id] : request.tensors) {
    const kdl_tensor& view = array(id).view;
    CheckpointTensor tensor;
    tensor.name = name.str();
    tensor.scalar = ElementScalar(view.element);
    tensor.sizes.assign(view.size, view.size + view.rank);
    tensor.for_written = [this, id = id](const auto& use) { return ForRows(id, true, use); };
    tensor.for_read = [this, id = id](const auto& use) { return ForRows(id, false, use); };
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Both requests always wait for their events, because the program does not wait for these events again.

Status Executor::Checkpoint(const interp::CheckpointRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  if (!checkpoints_.writes) return {};
  if (request.every < 1)
    return Failure{fmt::format("a checkpoint cannot be written every {} iterations: the number "
                               "must be positive",
                               request.every),
                   FailureKind::User};
  if (++checkpoint_counts_[request.path] % request.every != 0) return {};
  return WriteCheckpoint(request, TensorsOf(request), checkpoints_.program, transport_);
}

Status Executor::Restore(interp::CheckpointRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  if (!checkpoints_.writes) return {};
  if (Status may = CheckReplaceable(request.path.str(), transport_); !may.ok()) return may;
  if (request.path.text() != checkpoints_.resume || checkpoints_.resume.empty()) return {};
  Status read = ReadCheckpoint(request, TensorsOf(request), checkpoints_.program, transport_);
  for (const auto& [name, id] : request.tensors) {
    if (read.ok() && ownerships_.contains(id.value))
      read = StatusOf(kdl_ranks_rewritten(ranks_.get(), &array(id)));
  }
  return read;
}

}  // namespace kdl::driver
