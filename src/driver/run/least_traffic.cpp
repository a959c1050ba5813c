#include "driver/run/least_traffic.h"

#include <algorithm>

#include "driver/run/program_arguments.h"
#include "interp/tensor_memory.h"
#include "interp/tile.h"

namespace kdl::driver {

using interp::EventId;
using interp::TensorId;

LeastTraffic::LeastTraffic(const ir::Module& kernels, RankGrid grid)
    : GridHost(std::move(grid), kernels, 1, interp::RunOptions{.reads = &reads_}),
      kernels_(kernels) {}

Result<TensorId> LeastTraffic::Alloc(const interp::AllocRequest& request) {
  Result<TensorId> made = MemoryHost::Alloc(request);
  if (made.ok() && !request.rank_axes.empty())
    owned_[*made] = {
        Ownership(this->grid(), request.sizes, request.rank_axes, request.rank_blocks)};
  return made;
}

TensorId LeastTraffic::RankMemory(TensorId tensor, int64_t rank) {
  TensorId view = MemoryHost::View({tensor, 0, memory(tensor).sizes, memory(tensor).strides});
  views_[view] = {tensor, rank};
  return view;
}

TensorId LeastTraffic::View(const interp::ViewRequest& request) {
  TensorId view = MemoryHost::View(request);
  if (auto of = views_.find(request.tensor); of != views_.end()) views_[view] = of->second;
  return view;
}

/// All processes execute a copy to a tensor that is not distributed.
Result<EventId> LeastTraffic::Copy(const interp::CopyRequest& request) {
  if (IsOfRank(request.from)) {
    const interp::TensorArgument& from = memory(request.from);
    std::vector<bool> reads;
    for (interp::PointWalk walk(from.sizes, {from.strides}); !walk.done(); walk.Next()) {
      auto offset = static_cast<size_t>(walk.offset(0));
      reads.resize(std::max(reads.size(), offset + 1));
      reads[offset] = true;
    }
    CountReads(request.from, reads, !IsOfRank(request.to));
  }
  return MemoryHost::Copy(request);
}

/// All processes execute a launch that does not write a distributed tensor.
Result<EventId> LeastTraffic::Launch(const interp::LaunchRequest& request) {
  Result<EventId> done = MemoryHost::Launch(request);
  if (!done.ok()) return done;
  const ir::Function* kernel = kernels_.FindFunction(request.kernel);
  bool is_everywhere = true;
  for (size_t p = 0; p < request.arguments.size(); ++p) {
    bool is_written = kernel->params[p].direction != ir::Direction::In;
    if (is_written && IsOfRank(request.arguments[p].tensor)) is_everywhere = false;
  }
  size_t next = 0;
  for (const interp::LaunchArgument& argument : request.arguments) {
    if (!argument.tensor.valid()) continue;
    if (IsOfRank(argument.tensor)) CountReads(argument.tensor, reads_[next], is_everywhere);
    ++next;
  }
  return done;
}

Status LeastTraffic::Rewritten(const interp::RewrittenRequest& request) {
  OwnedTensor& owned = owned_.at(request.tensor);
  std::erase_if(owned.received, [&](const auto& one) {
    const auto& [rank, offset] = one;
    return !owned.IsRequested(rank, ElementAt(request.tensor, offset));
  });
  return {};
}

Status LeastTraffic::Fetch(const interp::FetchRequest& request) {
  owned_.at(request.tensor).requested.emplace_back(request.rank, request.needed);
  return {};
}

Status LeastTraffic::FinishFetches(Name) {
  for (auto& [tensor, owned] : owned_) owned.requested.clear();
  return {};
}

bool LeastTraffic::OwnedTensor::IsRequested(int64_t rank, const Box& element) const {
  return std::ranges::any_of(requested, [&](const auto& one) {
    return one.first == rank && Contains(one.second, element);
  });
}

Box LeastTraffic::ElementAt(TensorId tensor, int64_t offset) {
  const interp::TensorArgument& whole = memory(tensor);
  Box element;
  for (size_t d = 0; d < whole.sizes.size(); ++d) {
    int64_t index = offset / whole.strides[d] % whole.sizes[d];
    element.push_back({index, index + 1});
  }
  return element;
}

/// Counts elements of a view. `reads` contains an entry for each element between its first and its last one.
void LeastTraffic::CountReads(TensorId view, const std::vector<bool>& reads, bool is_everywhere) {
  const RankView& of = views_.at(view);
  const interp::TensorArgument& whole = memory(of.tensor);
  int64_t first = (static_cast<const std::byte*>(memory(view).data) -
                   static_cast<const std::byte*>(whole.data)) /
                  Bytes(whole.scalar);
  int64_t begin = is_everywhere ? 0 : of.rank;
  int64_t end = is_everywhere ? grid().count() : of.rank + 1;
  for (size_t n = 0; n < reads.size(); ++n) {
    if (!reads[n]) continue;
    int64_t offset = first + static_cast<int64_t>(n);
    for (int64_t rank = begin; rank < end; ++rank) CountRead(of.tensor, offset, rank);
  }
}

void LeastTraffic::CountRead(TensorId tensor, int64_t offset, int64_t rank) {
  OwnedTensor& owned = owned_.at(tensor);
  const interp::TensorArgument& whole = memory(tensor);
  bool is_own = false;
  owned.ownership.ForEachOwner(ElementAt(tensor, offset), rank,
                               [&](int64_t owner, const Box&) { is_own = owner == rank; });
  if (!is_own && owned.received.emplace(rank, offset).second) bytes_ += Bytes(whole.scalar);
}

Result<int64_t> LeastBytes(const ir::Module& module, const ir::Module& kernels,
                           const ir::Function& program, BoundProgram bound, const RankGrid& grid) {
  LeastTraffic host(kernels, grid);
  auto add = [&](BoundArgument& argument) -> Result<TensorId> {
    HostTensor& tensor = argument.tensor;
    return host.Wrap(
        {tensor.bytes.data(), tensor.scalar, tensor.shape, interp::RowMajorStrides(tensor.shape)});
  };
  Result<interp::ProgramArguments> arguments = MakeProgramArguments(program, bound, add);
  if (!arguments.ok()) return arguments.failure();
  Status ran = interp::RunProgram(module, program, *arguments, host);
  if (ran.ok()) ran = host.Finish();
  if (!ran.ok()) return ran.failure();
  return host.bytes();
}

}  // namespace kdl::driver
