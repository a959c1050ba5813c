#include <fmt/format.h>

#include <string>
#include <vector>

#include "driver/run/executor.h"
#include "interp/trap.h"
#include "ir/identity.h"
#include "kdl/checkpoint_text.hpp"

// The ranks of a program: the runtime moves elements between the memories of distributed tensors.

namespace kdl::driver {

using interp::TensorId;

Status Executor::SetRanks(const LocalRanks& ranks) {
  const std::vector<int64_t>& shape = ranks.grid.shape();
  kdl_ranks* made = nullptr;
  Status status = StatusOf(kdl_ranks_create_with(ranks.transport, shape.data(),
                                                 static_cast<int32_t>(shape.size()), &made));
  ranks_.reset(made);
  return status;
}

Status Executor::Agree(const ir::Function& program,
                       const interp::ProgramArguments& arguments) const {
  std::vector<std::string> names;
  for (const ir::Param& param : program.params) names.push_back(param.value->name().str());
  std::vector<kdl_named_arg> args;
  auto tensor = arguments.tensors.begin();
  auto scalar = arguments.scalars.begin();
  for (size_t p = 0; p < names.size(); ++p) {
    ir::Type type = program.params[p].value->type();
    kdl_arg value = ir::IsScalar(type) ? kdl_arg{nullptr, *scalar++, ElementCode(type->scalar), {}}
                                       : kdl_arg{&array((tensor++)->id), 0, 0, {}};
    args.push_back({names[p].c_str(), value});
  }
  std::string code = checkpoints::HexText(ir::FindIdentity(program).value_or(0));
  Status agreed =
      StatusOf(kdl_ranks_agree(ranks_.get(), std::string(program.base_name()).c_str(), code.c_str(),
                               args.data(), static_cast<int32_t>(args.size())));
  if (agreed.ok() || program.loc.line == 0) return agreed;
  return Failure{
      fmt::format("{}: error: {}", interp::ToString(program.loc), agreed.failure().message),
      agreed.failure().kind};
}

RankTrafficTable Executor::rank_traffic() const {
  RankTrafficTable table;
  std::vector<kdl_rank_traffic> rows(
      static_cast<size_t>(kdl_ranks_get_traffic(ranks_.get(), nullptr, 0)));
  kdl_ranks_get_traffic(ranks_.get(), rows.data(), static_cast<int64_t>(rows.size()));
  for (const kdl_rank_traffic& row : rows)
    table[{row.tensor, row.cause}] = {row.bytes, row.messages};
  return table;
}

interp::RankCounts Executor::Ranks(Name) const {
  return {kdl_ranks_count(ranks_.get()), kdl_ranks_first(ranks_.get()),
          kdl_ranks_end(ranks_.get())};
}

interp::IndexPart Executor::Owned(const interp::OwnedRequest& request) const {
  return {kdl_ranks_owned_first(ranks_.get(), request.size, request.rank, request.axis),
          kdl_ranks_owned_end(ranks_.get(), request.size, request.rank, request.axis)};
}

int64_t Executor::CountOwnedBlocks(const interp::OwnedBlocksRequest& request) const {
  const interp::OwnedRequest& of = request.dimension;
  return kdl_ranks_owned_blocks(ranks_.get(), of.size, of.rank, of.axis, request.length);
}

interp::IndexPart Executor::OwnedBlock(const interp::OwnedBlocksRequest& request,
                                       int64_t number) const {
  const interp::OwnedRequest& of = request.dimension;
  auto bound = [&](auto function) {
    return function(ranks_.get(), of.size, of.rank, of.axis, request.length, number);
  };
  return {bound(kdl_ranks_owned_block_first), bound(kdl_ranks_owned_block_end)};
}

TensorId Executor::RankMemory(TensorId tensor, int64_t rank) {
  return memories_.at(tensor.value)[static_cast<size_t>(rank - kdl_ranks_first(ranks_.get()))];
}

/// Allocates a memory for each rank of this process. The first one also represents the whole tensor.
Status Executor::AllocRanks(const interp::AllocRequest& request, TensorId first) {
  std::vector<TensorId> memories = {first};
  interp::AllocRequest other = request;
  other.rank_axes.clear();
  other.rank_blocks.clear();
  for (int64_t rank = kdl_ranks_first(ranks_.get()) + 1; rank < kdl_ranks_end(ranks_.get());
       ++rank) {
    Result<TensorId> made = Alloc(other);
    if (!made.ok()) return made.failure();
    memories.push_back(*made);
  }
  std::vector<kdl_array> arrays;
  for (TensorId memory : memories) arrays.push_back(array(memory));
  memories_[first.value] = std::move(memories);
  const int64_t* blocks = request.rank_blocks.empty() ? nullptr : request.rank_blocks.data();
  return StatusOf(kdl_ranks_add(ranks_.get(), arrays.data(), request.rank_axes.data(), blocks));
}

void Executor::FreeRanks(TensorId tensor) {
  auto known = memories_.find(tensor.value);
  if (known == memories_.end()) return;
  kdl_ranks_remove(ranks_.get(), &array(tensor));
  for (size_t i = 1; i < known->second.size(); ++i) Remove(known->second[i]);
  memories_.erase(known);
}

Status Executor::Fetch(const interp::FetchRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  std::vector<int64_t> first;
  std::vector<int64_t> end;
  for (const interp::IndexPart& part : request.needed) {
    first.push_back(part.first);
    end.push_back(part.end);
  }
  return StatusOf(kdl_ranks_fetch(ranks_.get(), &array(request.tensor), request.rank, first.data(),
                                  end.data(), request.cause.str().c_str()));
}

Status Executor::FinishFetches(Name device) {
  Result<kdl_queue*> queue = FindQueue(device, 0);
  if (!queue.ok()) return queue.failure();
  Status status = StatusOf(kdl_ranks_start_fetches(ranks_.get(), *queue));
  if (status.ok()) status = WaitForStarted();
  Status finished = StatusOf(kdl_ranks_finish_fetches(ranks_.get()));
  return status.ok() ? finished : status;
}

Status Executor::Rewritten(const interp::RewrittenRequest& request) {
  if (Status done = WaitFor(request.after); !done.ok()) return done;
  return StatusOf(kdl_ranks_rewritten(ranks_.get(), &array(request.tensor)));
}

}  // namespace kdl::driver
