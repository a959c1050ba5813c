#include "tools/explain/counting_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "driver/run/host_tensor.h"
#include "driver/run/program_arguments.h"
#include "interp/run.h"
#include "interp/tensor_memory.h"
#include "ir/eval/eval.h"
#include "tools/explain/launch_points.h"

namespace kdl::tools {

using driver::Box;
using interp::EventId;
using interp::TensorId;

namespace {

constexpr int64_t kMostGroups = 256;

}  // namespace

RankGroups::RankGroups(int64_t ranks)
    : size((ranks + kMostGroups - 1) / kMostGroups), count((ranks + size - 1) / size) {}

// -- Tensors ------------------------------------------------------------------------------------------

TensorId CountingHost::AddView(TensorPart view) {
  if (freed_.empty()) {
    views_.push_back(std::move(view));
    return TensorId(static_cast<uint32_t>(views_.size() - 1));
  }
  TensorId id = freed_.back();
  freed_.pop_back();
  views_[id.value] = std::move(view);
  return id;
}

TensorId CountingHost::Add(std::string name, Scalar scalar, std::vector<int64_t> sizes) {
  size_t number = tensors_.size();
  if (free_tensors_.empty()) {
    tensors_.emplace_back();
  } else {
    number = free_tensors_.back();
    free_tensors_.pop_back();
  }
  tensors_[number] = {std::move(name), scalar, sizes, {}, 0, {}, {}, {}};
  return AddView({number, kEachRank, std::move(sizes), false});
}

Result<TensorId> CountingHost::Alloc(const interp::AllocRequest& request) {
  if (!driver::ElementCount(request.scalar, request.sizes))
    return Failure{fmt::format("tensor '{}' would have 2^63 bytes or more", request.name.text())};
  TensorId tensor = Add(request.name.str(), request.scalar, request.sizes);
  if (request.rank_axes.empty()) return tensor;
  CountedTensor& added = TensorOf(tensor);
  added.exchange = driver::Exchange(
      driver::Ownership(grid(), request.sizes, request.rank_axes, request.rank_blocks));
  for (int64_t rank : {int64_t{0}, grid().count() - 1})
    added.owned = std::max(added.owned, CountOwned(added.exchange.ownership(), rank));
  added.last_receiver.assign(static_cast<size_t>(grid().count()), -1);
  added.held.assign(static_cast<size_t>(grid().count()), 0);
  if (!memory_.Own(added.owned * Bytes(added.scalar)))
    return Failure{"a rank would own 2^63 bytes or more"};
  return tensor;
}

Status CountingHost::Free(TensorId tensor, const std::vector<EventId>&) {
  if (!views_[tensor.value].is_view) {
    CountedTensor& freed = TensorOf(tensor);
    memory_.Disown(freed.owned * Bytes(freed.scalar));
    memory_.Forget(freed.held);
    free_tensors_.push_back(views_[tensor.value].tensor);
  }
  freed_.push_back(tensor);
  return {};
}

/// The views that the program makes next have this memory.
TensorId CountingHost::RankMemory(TensorId tensor, int64_t rank) {
  views_[tensor.value].rank = rank;
  return tensor;
}

TensorId CountingHost::View(const interp::ViewRequest& request) {
  const TensorPart& of = views_[request.tensor.value];
  return AddView({of.tensor, of.rank, request.sizes, true});
}

std::vector<int64_t> CountingHost::Strides(TensorId tensor) const {
  return interp::RowMajorStrides(views_[tensor.value].sizes);
}

Result<uint64_t> CountingHost::Load(TensorId tensor, const std::vector<int64_t>&,
                                    const std::vector<EventId>&) {
  return Failure{fmt::format(
      "what is sent depends on an element of '{}', which is only known when the program runs; "
      "`kernelc run -v` counts what is sent in a run",
      TensorOf(tensor).name)};
}

Result<interp::TransferResult> CountingHost::Transfer(const interp::TransferRequest& request) {
  return interp::TransferResult{AddView(views_[request.tensor.value]), {}};
}

// -- What ranks compute and copy -----------------------------------------------------------------------

interp::RankCounts CountingHost::Ranks(Name) const {
  return {grid().count(), 0, clocks_ ? grid().count() : 1};
}

/// Simulates an operation that writes the elements of a tensor.
Result<EventId> CountingHost::Write(TensorId tensor) {
  if (!clocks_) return EventId();
  const TensorPart& part = views_[tensor.value];
  auto bytes = static_cast<double>(Bytes(tensors_[part.tensor].scalar));
  for (int64_t size : part.sizes) bytes *= static_cast<double>(size);
  clocks_->Copy(part.rank, bytes);
  return EventId();
}

Result<EventId> CountingHost::CopyBack(const interp::CopyRequest& request) {
  return Write(request.to);
}
Result<EventId> CountingHost::Fill(const interp::FillRequest& request) {
  return Write(request.tensor);
}
Result<EventId> CountingHost::Copy(const interp::CopyRequest& request) { return Write(request.to); }

/// Returns the rank that executes a launch: the one in whose memory it writes, or else each of them.
int64_t CountingHost::RankOf(const ir::Function& kernel,
                             const interp::LaunchRequest& request) const {
  for (size_t p = 0; p < request.arguments.size(); ++p) {
    TensorId tensor = request.arguments[p].tensor;
    if (!tensor.valid() || kernel.params[p].direction == ir::Direction::In) continue;
    if (tensors_[views_[tensor.value].tensor].is_distributed()) return views_[tensor.value].rank;
  }
  return kEachRank;
}

double CountingHost::CountPointsOf(const ir::Function& kernel,
                                   const interp::LaunchRequest& request) const {
  return CountPoints(kernel, [&](Name name) -> std::optional<int64_t> {
    for (size_t p = 0; p < request.arguments.size(); ++p) {
      const interp::LaunchArgument& argument = request.arguments[p];
      const ir::Value* param = kernel.params[p].value;
      if (!argument.tensor.valid()) {
        if (param->name() == name) return ir::Extended(argument.scalar, argument.bits);
        continue;
      }
      const std::vector<Size>& dims = param->type()->dims;
      for (size_t d = 0; d < dims.size(); ++d) {
        if (dims[d]->kind == SizeKind::Symbol && dims[d]->symbol == name)
          return views_[argument.tensor.value].sizes[d];
      }
    }
    return std::nullopt;
  });
}

Result<EventId> CountingHost::Launch(const interp::LaunchRequest& request) {
  if (!clocks_) return EventId();
  const ir::Function& kernel = *module_->FindFunction(request.kernel);
  double points = CountPointsOf(kernel, request);
  std::string name(kernel.base_name());
  points_[name] += points;
  auto speed = speeds_->find(name);
  clocks_->Launch(RankOf(kernel, request), speed == speeds_->end() ? 0 : points * speed->second);
  return EventId();
}

// -- What ranks send -----------------------------------------------------------------------------------

Status CountingHost::Fetch(const interp::FetchRequest& request) {
  CountedTensor& tensor = TensorOf(request.tensor);
  CountedTraffic& traffic = TrafficOf(tensor, request.cause);
  Box needed = driver::Intersection(request.needed, driver::WholeBox(tensor.sizes));
  bool fits = true;
  auto rank = static_cast<size_t>(request.rank);
  int64_t before = traffic.received[rank];
  tensor.exchange.Fetch(request.rank, needed, [&](int64_t owner, const Box& box) {
    int64_t bytes = driver::CountElements(box) * Bytes(tensor.scalar);
    fits &= !__builtin_add_overflow(bytes_, bytes, &bytes_);
    if (fits) CountBox(tensor, traffic, owner, request.rank, bytes);
  });
  if (!fits) return Failure{"the ranks would send 2^63 bytes or more"};
  CountReceived(tensor, traffic, request.rank, before);
  if (tensor.requested.empty()) requested_.push_back(views_[request.tensor.value].tensor);
  tensor.requested.emplace_back(request.rank, std::move(needed));
  memory_.Hold(tensor.held, rank, traffic.received[rank] - before);
  return {};
}

Status CountingHost::FinishFetches(Name) {
  for (size_t number : requested_) {
    std::ranges::fill(tensors_[number].last_receiver, -1);
    tensors_[number].requested.clear();
  }
  requested_.clear();
  if (clocks_) clocks_->FinishMessages();
  return {};
}

Status CountingHost::Rewritten(const interp::RewrittenRequest& request) {
  CountedTensor& tensor = TensorOf(request.tensor);
  tensor.exchange.Forget();
  memory_.Forget(tensor.held);
  for (const auto& [rank, box] : tensor.requested) {
    tensor.exchange.Fetch(rank, box, [&](int64_t, const Box& kept) {
      int64_t bytes = driver::CountElements(kept) * Bytes(tensor.scalar);
      memory_.Hold(tensor.held, static_cast<size_t>(rank), bytes);
    });
  }
  return {};
}

int64_t CountingHost::CountOwned(const driver::Ownership& ownership, int64_t rank) {
  int64_t count = 0;
  ownership.ForEachOwned(rank, [&](const Box& box) { count += driver::CountElements(box); });
  return count;
}

CountedTraffic& CountingHost::TrafficOf(const CountedTensor& tensor, Name cause) {
  CountedTraffic& traffic =
      traffic_.try_emplace({tensor.name, cause.str()}, grid().count(), groups_).first->second;
  traffic.owned = std::max(traffic.owned, tensor.owned);
  return traffic;
}

void CountingHost::CountBox(CountedTensor& tensor, CountedTraffic& traffic, int64_t from,
                            int64_t to, int64_t bytes) const {
  int64_t pair = from / groups_.size * groups_.count + to / groups_.size;
  driver::RankTraffic& sent = traffic.pairs[static_cast<size_t>(pair)];
  int64_t& last = tensor.last_receiver[static_cast<size_t>(from)];
  bool is_new = last != to;
  if (is_new) ++sent.messages;
  last = to;
  sent.bytes += bytes;
  traffic.received[static_cast<size_t>(to)] += bytes;
  if (clocks_) clocks_->Send(from, to, static_cast<double>(bytes), is_new);
}

/// Counts the elements that a rank receives for one launch. `before` is the number of bytes before the fetch.
void CountingHost::CountReceived(CountedTensor& tensor, CountedTraffic& traffic, int64_t rank,
                                 int64_t before) {
  bool is_same = !tensor.requested.empty() && tensor.requested.back().first == rank;
  if (!is_same) tensor.received_bytes = 0;
  tensor.received_bytes += traffic.received[static_cast<size_t>(rank)] - before;
  traffic.most_received =
      std::max(traffic.most_received, tensor.received_bytes / Bytes(tensor.scalar));
}

Status Count(const ir::Module& module, const ir::Function& program,
             const driver::BoundProgram& bound, CountingHost& host, int64_t most_operations) {
  auto add = [&](const driver::BoundArgument& argument) -> Result<TensorId> {
    return host.Add(argument.name, argument.tensor.scalar, argument.tensor.shape);
  };
  Result<interp::ProgramArguments> arguments = driver::MakeProgramArguments(program, bound, add);
  if (!arguments.ok()) return arguments.failure();
  return interp::RunProgram(module, program, *arguments, host, most_operations);
}

}  // namespace kdl::tools
