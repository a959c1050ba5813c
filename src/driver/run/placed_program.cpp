#include "driver/run/placed_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "driver/run/program_arguments.h"
#include "ir/program_tensors.h"

namespace kdl::driver {

namespace {

constexpr uint8_t kGuard = 0xC7;
/// This number of elements of any type is a multiple of 64 bytes, so the tensor after a guard is
/// aligned.
constexpr size_t kGuardElements = 64;

bool IsGuard(const std::byte* data, size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte byte) { return byte == std::byte{kGuard}; });
}

template <class Use>
Status Mapped(const kdl_array& array, kdl_map_access access, Use&& use) {
  if (kdl_buffer_bytes(array.buffer) == 0) return {};
  void* data = nullptr;
  Status mapped = StatusOf(kdl_buffer_map(array.buffer, access, &data));
  if (!mapped.ok()) return mapped;
  use(static_cast<std::byte*>(data));
  return StatusOf(kdl_buffer_unmap(array.buffer));
}

}  // namespace

Status PlacedProgram::Place(const BoundProgram& bound) {
  if (Status chosen = SelectDevices(); !chosen.ok()) return chosen;
  executor_.emplace(place_.context, place_.module, devices_);
  if (Status made = executor_->SetRanks(place_.ranks); !made.ok()) return made;
  if (Status made = executor_->SetCheckpoints(place_.checkpoints); !made.ok()) return made;
  executor_->SetContracts(place_.contracts, &place_.sources, place_.launch_checks);
  return MoveIn(bound);
}

size_t PlacedProgram::GuardBytes(const BoundArgument& argument) const {
  bool guarded = memory_.guarded && argument.direction != ir::Direction::In && !argument.part;
  return guarded ? kGuardElements * static_cast<size_t>(Bytes(argument.tensor.scalar)) : 0;
}

Status PlacedProgram::Allocate(kdl_device* device, const BoundArgument& argument,
                               kdl_array& array) const {
  const HostTensor& tensor = argument.tensor;
  uint8_t element = ElementCode(tensor.scalar);
  auto rank = static_cast<int32_t>(tensor.shape.size());
  size_t guard = GuardBytes(argument);
  if (guard == 0) {
    return StatusOf(kdl_array_allocate(device, element, rank, tensor.shape.data(),
                                       argument.name.c_str(), &array));
  }
  auto bytes = static_cast<size_t>(Bytes(tensor.scalar));
  auto elements = static_cast<int64_t>((tensor.bytes.size() + 2 * guard) / bytes);
  Status made =
      StatusOf(kdl_array_allocate(device, element, 1, &elements, argument.name.c_str(), &array));
  if (!made.ok()) return made;
  array.view.data = static_cast<std::byte*>(array.view.data) + guard;
  array.view.rank = rank;
  std::vector<int64_t> strides = interp::RowMajorStrides(tensor.shape);
  for (size_t d = 0; d < std::size(array.view.size); ++d) {
    bool is_dim = d < tensor.shape.size();
    array.view.size[d] = is_dim ? tensor.shape[d] : 1;
    array.view.stride[d] = is_dim ? strides[d] : 0;
  }
  return {};
}

Status PlacedProgram::SelectDevices() {
  for (const ir::Device& device : place_.module.devices) {
    auto spec = place_.specs.find(device.name.str());
    if (spec == place_.specs.end() || spec->second.empty()) continue;
    Status selected =
        StatusOf(kdl_select_device(place_.context, spec->second.c_str(), &devices_[device.name]));
    if (!selected.ok()) return selected;
  }
  return {};
}

Status PlacedProgram::MoveIn(const BoundProgram& bound) {
  auto add = [&](const BoundArgument& argument) -> Result<interp::TensorId> {
    auto param = static_cast<size_t>(&argument - bound.arguments.data());
    kdl_device* device =
        devices_.at(ir::CallersDevice(place_.module, program_, program_.params[param].value));
    kdl_array array{};
    if (Status made = Allocate(device, argument, array); !made.ok()) return made.failure();
    interp::TensorId id = executor_->Add(array);
    if (Status filled = Fill(argument, array); !filled.ok()) return filled.failure();
    return id;
  };
  Result<interp::ProgramArguments> arguments = MakeProgramArguments(program_, bound, add);
  if (!arguments.ok()) return arguments.failure();
  arguments_ = std::move(*arguments);
  return {};
}

Status PlacedProgram::Fill(const BoundArgument& argument, const kdl_array& array) const {
  bool is_out = argument.direction == ir::Direction::Out;
  if (is_out && !memory_.poison && !memory_.guarded) return {};
  if (argument.part) {
    // The memory of elements that other ranks own is not touched, so that the system need not provide it.
    if (is_out) return {};
    return Mapped(array, KDL_MAP_READ_WRITE, [&](std::byte* data) { CopyToWhole(argument, data); });
  }
  return Mapped(array, KDL_MAP_WRITE, [&](std::byte* data) {
    std::memset(data, kGuard, GuardBytes(argument));
    data += GuardBytes(argument);
    size_t bytes = argument.tensor.bytes.size();
    if (is_out && memory_.poison) std::memset(data, *memory_.poison, bytes);
    if (!is_out && bytes > 0) std::memcpy(data, argument.tensor.bytes.data(), bytes);
    std::memset(data + bytes, kGuard, GuardBytes(argument));
  });
}

Status PlacedProgram::Restore(const BoundProgram& bound) {
  executor_->ForgetRuns(arguments_.tensors.size());
  size_t tensor = 0;
  for (const BoundArgument& argument : bound.arguments) {
    if (!argument.is_tensor) continue;
    const kdl_array& array = executor_->array(arguments_.tensors[tensor++].id);
    if (argument.direction != ir::Direction::InOut) continue;
    if (Status filled = Fill(argument, array); !filled.ok()) return filled;
  }
  return {};
}

Status PlacedProgram::TakeBack(BoundProgram& bound) const {
  size_t tensor = 0;
  for (BoundArgument& argument : bound.arguments) {
    if (!argument.is_tensor) continue;
    const kdl_array& array = executor_->array(arguments_.tensors[tensor++].id);
    if (argument.direction == ir::Direction::In) continue;
    if (argument.part) {
      Status read = Mapped(array, KDL_MAP_READ,
                           [&](const std::byte* data) { CopyFromWhole(data, argument); });
      if (!read.ok()) return read;
      continue;
    }
    bool intact = true;
    Status read = Mapped(array, KDL_MAP_READ, [&](const std::byte* data) {
      std::vector<std::byte>& bytes = argument.tensor.bytes;
      size_t guard = GuardBytes(argument);
      intact = IsGuard(data, guard) && IsGuard(data + guard + bytes.size(), guard);
      if (!bytes.empty()) std::memcpy(bytes.data(), data + guard, bytes.size());
    });
    if (!read.ok()) return read;
    if (!intact) return Failure{fmt::format("memory next to '{}' was written", argument.name)};
  }
  return {};
}

}  // namespace kdl::driver
