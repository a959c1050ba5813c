#include "driver/run/least_traffic.h"

#include <algorithm>

#include "driver/ranks/sharding.h"
#include "driver/run/program_arguments.h"
#include "interp/tensor_memory.h"
#include "interp/tile.h"

namespace kdl::driver {

using interp::EventId;
using interp::TensorId;

LeastTraffic::LeastTraffic(const ir::Module& kernels, int64_t ranks)
    : MemoryHost(kernels, 1, {.reads = &reads_}), kernels_(kernels), ranks_(ranks) {}

interp::IndexPart LeastTraffic::Owned(Name, int64_t size, int64_t rank) const {
  Indices owned = Sharding(size, ranks_).Owned(rank);
  return {owned.first, owned.end};
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
  owned_[request.tensor] = {request.dimension, {}};
  return {};
}

/// Counts elements of a view. `reads` contains an entry for each element between its first and its last one.
void LeastTraffic::CountReads(TensorId view, const std::vector<bool>& reads, bool is_everywhere) {
  const RankView& of = views_.at(view);
  const interp::TensorArgument& whole = memory(of.tensor);
  int64_t first = (static_cast<const std::byte*>(memory(view).data) -
                   static_cast<const std::byte*>(whole.data)) /
                  Bytes(whole.scalar);
  for (size_t n = 0; n < reads.size(); ++n) {
    if (!reads[n]) continue;
    int64_t offset = first + static_cast<int64_t>(n);
    for (int64_t rank = is_everywhere ? 0 : of.rank; rank < (is_everywhere ? ranks_ : of.rank + 1);
         ++rank)
      CountRead(of.tensor, offset, rank);
  }
}

void LeastTraffic::CountRead(TensorId tensor, int64_t offset, int64_t rank) {
  auto owned = owned_.find(tensor);
  if (owned == owned_.end()) return;
  const interp::TensorArgument& whole = memory(tensor);
  size_t dimension = owned->second.dimension;
  int64_t index = offset / whole.strides[dimension] % whole.sizes[dimension];
  bool is_own = Sharding(whole.sizes[dimension], ranks_).Owners({index, index + 1}).first == rank;
  if (!is_own && owned->second.received.emplace(rank, offset).second) bytes_ += Bytes(whole.scalar);
}

Result<int64_t> LeastBytes(const ir::Module& module, const ir::Module& kernels,
                           const ir::Function& program, BoundProgram bound, int64_t ranks) {
  LeastTraffic host(kernels, ranks);
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
