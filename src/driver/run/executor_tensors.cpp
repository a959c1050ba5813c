#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "driver/run/draw.h"
#include "driver/run/executor.h"
#include "support/check.h"

// The tensors of a program: their lifetimes, views and transfers, and accesses by the host.

namespace kdl::driver {

using interp::EventId;
using interp::TensorId;

Result<TensorId> Executor::Alloc(const interp::AllocRequest& request) {
  Result<kdl_device*> device = FindDevice(request.device);
  if (!device.ok()) return device.failure();
  kdl_array made = {};
  Status status = StatusOf(kdl_array_allocate(
      *device, ElementCode(request.scalar), static_cast<int32_t>(request.sizes.size()),
      request.sizes.data(), request.name.str().c_str(), &made));
  if (!status.ok()) return status.failure();
  TensorId tensor = Add(made);
  if (!request.rank_axes.empty()) status = AllocRanks(request, tensor);
  return status.ok() ? Result<TensorId>(tensor) : status.failure();
}

/// Drops the program's reference to the tensor. The runtime keeps the memory until the last
/// operation that uses it has ended.
Status Executor::Free(TensorId tensor, const std::vector<EventId>&) {
  KDL_CHECK(tensors_[tensor.value].buffer, "tensor {} of a program was freed twice", tensor.value);
  FreeRanks(tensor);
  Remove(tensor);
  return {};
}

Status Executor::Lives(TensorId tensor, Name device, Name name) {
  Result<kdl_device*> wanted = FindDevice(device);
  if (!wanted.ok()) return wanted.failure();
  const kdl_device* found = kdl_buffer_device(array(tensor).buffer);
  if (kdl_devices_share_memory(found, *wanted) != 0) return {};
  return Failure{
      fmt::format("'{}' lives on {}; the program expects it on '{}', which is {}", name.text(),
                  kdl_device_uri(found), device.text(), kdl_device_uri(*wanted)),
      FailureKind::User};
}

Result<bool> Executor::Overlap(TensorId a, TensorId b) {
  int32_t overlap = 0;
  Status status = StatusOf(kdl_arrays_overlap(&array(a), a == b ? nullptr : &array(b), &overlap));
  return status.ok() ? Result<bool>(overlap != 0) : status.failure();
}

/// The returned event completes after all operations submitted to the queue earlier, even if
/// nothing was moved.
Result<Executor::Moved> Executor::Move(const interp::TransferRequest& request) {
  Result<kdl_queue*> queue = FindQueue(request.device, request.queue);
  if (!queue.ok()) return queue.failure();
  const kdl_array from = array(request.tensor);
  kdl_device* device = *FindDevice(request.device);
  bool stays = kdl_devices_share_memory(kdl_buffer_device(from.buffer), device) != 0;
  kdl_array to = from;
  if (stays) {
    kdl_buffer_retain(from.buffer);
  } else {
    Status status = StatusOf(kdl_array_allocate(device, from.view.element, from.view.rank,
                                                from.view.size, kdl_buffer_name(from.buffer), &to));
    if (!status.ok()) return status.failure();
  }
  if (stays || request.fresh) {
    Result<EventId> event = Join(*queue, request.after);
    if (event.ok()) return Moved{to, *event};
    kdl_array_free(&to);
    return event.failure();
  }
  std::vector<kdl_event*> after = started_.Find(request.after);
  kdl_event* done = nullptr;
  Status status = StatusOf(kdl_copy(*queue, &to, &from, request.cause.str().c_str(), after.data(),
                                    static_cast<int32_t>(after.size()), &done));
  Result<EventId> event = status.ok() ? started_.Add(done) : Result<EventId>(status.failure());
  if (event.ok()) return Moved{to, *event};
  kdl_array_free(&to);
  return event.failure();
}

Result<interp::TransferResult> Executor::Transfer(const interp::TransferRequest& request) {
  Result<Moved> moved = Move(request);
  if (!moved.ok()) return moved.failure();
  return interp::TransferResult{Add(moved->array), moved->event};
}

Result<EventId> Executor::Relocate(const interp::TransferRequest& request) {
  Result<Moved> moved = Move(request);
  if (!moved.ok()) return moved.failure();
  kdl_array& tensor = tensors_[request.tensor.value];
  kdl_array_free(&tensor);
  tensor = moved->array;
  return moved->event;
}

Result<EventId> Executor::CopyBack(const interp::CopyRequest& request) {
  if (array(request.from).buffer != array(request.to).buffer) return Copy(request);
  Result<kdl_queue*> queue = FindQueue(request.device, request.queue);
  if (!queue.ok()) return queue.failure();
  return Join(*queue, request.after);
}

Result<EventId> Executor::Copy(const interp::CopyRequest& request) {
  Result<kdl_queue*> queue = FindQueue(request.device, request.queue);
  if (!queue.ok()) return queue.failure();
  std::vector<kdl_event*> after = started_.Find(request.after);
  kdl_event* done = nullptr;
  std::string cause = request.cause.empty() ? "copy" : request.cause.str();
  Status status = StatusOf(kdl_copy(*queue, &array(request.to), &array(request.from), cause.c_str(),
                                    after.data(), static_cast<int32_t>(after.size()), &done));
  if (!status.ok()) return status.failure();
  return started_.Add(done);
}

Result<EventId> Executor::Fill(const interp::FillRequest& request) {
  Result<kdl_queue*> queue = FindQueue(request.device, request.queue);
  if (!queue.ok()) return queue.failure();
  std::vector<kdl_event*> after = started_.Find(request.after);
  kdl_event* done = nullptr;
  Status status = StatusOf(kdl_fill(*queue, &array(request.tensor), request.bits, after.data(),
                                    static_cast<int32_t>(after.size()), &done));
  if (!status.ok()) return status.failure();
  return started_.Add(done);
}

TensorId Executor::View(const interp::ViewRequest& request) {
  kdl_array view = array(request.tensor);
  int64_t bytes = request.offset * (view.view.element_bits / 8);
  if (view.view.data) view.view.data = static_cast<char*>(view.view.data) + bytes;
  view.view.rank = static_cast<int32_t>(request.sizes.size());
  for (size_t d = 0; d < KDL_MAX_RANK; ++d) {
    bool is_dim = d < request.sizes.size();
    view.view.size[d] = is_dim ? request.sizes[d] : 1;
    view.view.stride[d] = is_dim ? request.strides[d] : 0;
  }
  kdl_buffer_retain(view.buffer);
  return Add(view);
}

std::vector<int64_t> Executor::Strides(TensorId tensor) const {
  const kdl_tensor& view = array(tensor).view;
  return {view.stride, view.stride + view.rank};
}

/// Maps the buffer and calls `use` with the address and the bytes of the element.
template <class Use>
Status Executor::WithElement(TensorId tensor, const std::vector<int64_t>& index,
                             kdl_map_access access, Use use) {
  const kdl_array& from = array(tensor);
  const auto* base = static_cast<const char*>(kdl_buffer_address(from.buffer));
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * from.view.stride[d];
  int64_t bytes = from.view.element_bits / 8;
  offset = offset * bytes + (static_cast<const char*>(from.view.data) - base);
  void* data = nullptr;
  if (Status mapped = StatusOf(kdl_buffer_map(from.buffer, access, &data)); !mapped.ok())
    return mapped;
  use(static_cast<char*>(data) + offset, static_cast<size_t>(bytes));
  return StatusOf(kdl_buffer_unmap(from.buffer));
}

Result<uint64_t> Executor::Load(TensorId tensor, const std::vector<int64_t>& index,
                                const std::vector<EventId>& after) {
  if (Status done = WaitFor(after); !done.ok()) return done.failure();
  uint64_t bits = 0;
  Status read = WithElement(tensor, index, KDL_MAP_READ, [&](const char* element, size_t bytes) {
    std::memcpy(&bits, element, bytes);
  });
  return read.ok() ? Result<uint64_t>(bits) : read.failure();
}

Status Executor::Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
                       const std::vector<EventId>& after) {
  if (Status done = WaitFor(after); !done.ok()) return done;
  return WithElement(tensor, index, KDL_MAP_READ_WRITE,
                     [&](char* element, size_t bytes) { std::memcpy(element, &bits, bytes); });
}

Status Executor::Draw(TensorId tensor, uint64_t seed, const std::vector<EventId>& after) {
  if (Status done = WaitFor(after); !done.ok()) return done;
  const kdl_array& to = array(tensor);
  Scalar scalar = ElementScalar(to.view.element);
  std::vector<int64_t> first(static_cast<size_t>(to.view.rank), 0);
  int64_t count = 1;
  for (int32_t d = 0; d < to.view.rank; ++d) count *= to.view.size[d];
  if (count == 0) return {};
  return WithElement(tensor, first, KDL_MAP_WRITE, [&](char* element, size_t bytes) {
    for (int64_t n = 0; n < count; ++n) {
      uint64_t bits = DrawElement(scalar, seed, static_cast<uint64_t>(n));
      std::memcpy(element + static_cast<size_t>(n) * bytes, &bits, bytes);
    }
  });
}

namespace {

/// Copies the elements of a view to `to` contiguously, in row-major order. `from` is the address of
/// the first element. Returns the end of the copy.
std::byte* Gather(const kdl_tensor& view, int32_t dimension, const char* from, std::byte* to) {
  auto bytes = static_cast<size_t>(view.element_bits / 8);
  if (dimension == view.rank) {
    std::memcpy(to, from, bytes);
    return to + bytes;
  }
  int64_t size = view.size[dimension];
  if (dimension == view.rank - 1 && view.stride[dimension] == 1) {
    std::memcpy(to, from, static_cast<size_t>(size) * bytes);
    return to + static_cast<size_t>(size) * bytes;
  }
  for (int64_t i = 0; i < size; ++i)
    to = Gather(view, dimension + 1,
                from + i * view.stride[dimension] * static_cast<int64_t>(bytes), to);
  return to;
}

}  // namespace

Status Executor::Read(TensorId tensor, HostTensor& into) {
  const kdl_array& from = array(tensor);
  int64_t count = 1;
  for (int32_t d = 0; d < from.view.rank; ++d) {
    into.shape.push_back(from.view.size[d]);
    count *= from.view.size[d];
  }
  into.bytes.resize(static_cast<size_t>(count * Bytes(into.scalar)));
  if (count == 0) return {};
  std::vector<int64_t> first(into.shape.size(), 0);
  return WithElement(tensor, first, KDL_MAP_READ, [&](const char* element, size_t) {
    Gather(from.view, 0, element, into.bytes.data());
  });
}

}  // namespace kdl::driver
