// The C interface of ranks.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "api/api.h"
#include "api/kept_launches.h"
#include "api/rank_agreement.h"
#include "api/rank_group.h"
#include "api/rank_processes.h"
#include "kdl/ranks.h"

using namespace kdl::runtime;
using kdl::ranks::kMostBlock;
using kdl::ranks::Ownership;
using kdl::ranks::RankGrid;

namespace {

Error MakeGrid(const std::int64_t* shape, std::int32_t axes, std::int64_t processes,
               RankGrid* grid) {
  if (axes < 0 || (axes > 0 && shape == nullptr))
    return Invalid("a grid of ranks has ", axes, " axes");
  std::vector<std::int64_t> lengths(shape, shape + axes);
  for (const std::int64_t length : lengths) {
    if (length < 1) return Invalid("an axis of a grid of ranks has the length ", length);
  }
  if (lengths.empty()) lengths.push_back(processes == 0 ? 1 : processes);
  *grid = RankGrid(lengths);
  if (processes == 1) *grid = RankGrid();
  if (processes <= 1 || grid->count() == processes) return nullptr;
  return Invalid("the program needs ", grid->count(),
                 " processes, one for each rank of its grid, but there are ", processes,
                 "; one process alone runs it, too");
}

// `count` is the number of processes, or 0 if this process has all ranks of the grid.
Error MakeRanks(std::shared_ptr<Processes> processes, std::int64_t count, const std::int64_t* shape,
                std::int32_t axes, kdl_ranks** ranks) {
  RankGrid grid;
  KDL_RETURN_IF_ERROR(MakeGrid(shape, axes, count, &grid));
  const std::int64_t first = processes ? processes->transport().rank : 0;
  const std::int64_t end = processes ? first + 1 : grid.count();
  *ranks = new kdl_ranks(std::move(grid), {first, end}, std::move(processes));
  return nullptr;
}

}  // namespace

kdl_error* kdl_context_set_transport(kdl_context* context, const kdl_transport* transport) {
  KDL_RETURN_IF_UNUSABLE(context);
  return Guard([&]() -> Error {
    if (transport == nullptr) {
      Unwrap(context)->set_processes(nullptr);
      return nullptr;
    }
    if (transport->rank < 0 || transport->rank >= transport->count)
      return Invalid("a transport has rank ", transport->rank, " of ", transport->count);
    Unwrap(context)->set_processes(std::make_shared<Processes>(*transport));
    return nullptr;
  });
}

kdl_error* kdl_ranks_begin_call(kdl_context* context, const char* program, const char* code,
                                const kdl_named_arg* args, std::int32_t count, const char* place,
                                kdl_error* failure) {
  Error own(failure);
  KDL_RETURN_IF_UNUSABLE(context, program, code);
  return Guard([&]() -> Error {
    const std::shared_ptr<Processes>& processes = Unwrap(context)->processes();
    if (!processes) return std::move(own);
    return processes->Begin({program, code, {args, static_cast<std::size_t>(count)}, place},
                            std::move(own));
  });
}

kdl_error* kdl_ranks_end_call(kdl_context* context, kdl_error* failure) {
  Error own(failure);
  KDL_RETURN_IF_UNUSABLE(context);
  return Guard([&]() -> Error {
    const std::shared_ptr<Processes>& processes = Unwrap(context)->processes();
    return processes ? processes->End(std::move(own)) : std::move(own);
  });
}

kdl_error* kdl_ranks_create(kdl_context* context, const std::int64_t* shape, std::int32_t axes,
                            kdl_ranks** ranks) {
  KDL_RETURN_IF_UNUSABLE(context, ranks);
  return Guard([&] {
    std::shared_ptr<Processes> processes = Unwrap(context)->processes();
    const std::int64_t count = processes ? processes->transport().count : 1;
    return MakeRanks(std::move(processes), count, shape, axes, ranks);
  });
}

kdl_error* kdl_ranks_create_with(const kdl_transport* transport, const std::int64_t* shape,
                                 std::int32_t axes, kdl_ranks** ranks) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] {
    if (transport == nullptr) return MakeRanks(nullptr, 0, shape, axes, ranks);
    kdl_transport kept = *transport;
    kept.release = nullptr;
    return MakeRanks(std::make_shared<Processes>(kept), kept.count, shape, axes, ranks);
  });
}

kdl_error* kdl_ranks_agree(const kdl_ranks* ranks, const char* program, const char* code,
                           const kdl_named_arg* args, std::int32_t count) {
  KDL_RETURN_IF_UNUSABLE(ranks, program, code);
  return Guard([&]() -> Error {
    if (ranks->transport() == nullptr) return nullptr;
    return Agree(*ranks->transport(),
                 {program, code, {args, static_cast<std::size_t>(count)}, nullptr}, nullptr);
  });
}

void kdl_ranks_free(kdl_ranks* ranks) {
  if (ranks == nullptr) return;
  // After a failure, transfers that have not ended need their memory.
  if (!ranks->is_started() || ranks->processes() == nullptr) {
    delete ranks;
  } else {
    GuardQuiet([&] { ranks->processes()->Keep(std::shared_ptr<kdl_ranks>(ranks)); });
  }
}

kdl_error* kdl_ranks_use_queue(kdl_ranks* ranks, kdl_queue* queue) {
  KDL_RETURN_IF_UNUSABLE(ranks, queue);
  return Guard(Unwrap(queue)->queue().scheduler(), [&]() -> Error {
    Caller& caller = *Unwrap(queue);
    if (!caller.is_own()) return Invalid("the handle of a queue belongs to all of its users");
    auto launches = caller.queue().device().orders() ? nullptr : std::make_unique<KeptLaunches>();
    caller.queue().scheduler().RunAtOnce(caller, std::move(launches));
    return nullptr;
  });
}

std::int64_t kdl_ranks_count(const kdl_ranks* ranks) { return ranks->grid().count(); }
std::int64_t kdl_ranks_first(const kdl_ranks* ranks) { return ranks->local().first; }
std::int64_t kdl_ranks_end(const kdl_ranks* ranks) { return ranks->local().end; }

std::int64_t kdl_ranks_owned_first(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                   std::int64_t axis) {
  return ranks->grid().Owned(size, rank, axis).first;
}
std::int64_t kdl_ranks_owned_end(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                 std::int64_t axis) {
  return ranks->grid().Owned(size, rank, axis).end;
}

std::int64_t kdl_ranks_owned_blocks(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                    std::int64_t axis, std::int64_t block) {
  return ranks->grid().CountOwnedBlocks(size, rank, axis, block);
}
std::int64_t kdl_ranks_owned_block_first(const kdl_ranks* ranks, std::int64_t size,
                                         std::int64_t rank, std::int64_t axis, std::int64_t block,
                                         std::int64_t number) {
  return ranks->grid().OwnedBlock(size, rank, axis, block, number).first;
}
std::int64_t kdl_ranks_owned_block_end(const kdl_ranks* ranks, std::int64_t size, std::int64_t rank,
                                       std::int64_t axis, std::int64_t block, std::int64_t number) {
  return ranks->grid().OwnedBlock(size, rank, axis, block, number).end;
}

kdl_error* kdl_ranks_add(kdl_ranks* ranks, const kdl_array* memories, const std::int64_t* axes,
                         const std::int64_t* blocks) {
  KDL_RETURN_IF_UNUSABLE(ranks, memories);
  return Guard([&]() -> Error {
    const kdl_tensor& view = memories[0].view;
    if (view.rank > 0 && axes == nullptr) return Invalid("a distributed tensor has no axes");
    std::vector<std::int64_t> sizes(view.size, view.size + view.rank);
    std::vector<std::int64_t> along(axes, axes + view.rank);
    std::vector<std::int64_t> lengths;
    if (blocks != nullptr) lengths.assign(blocks, blocks + view.rank);
    if (std::ranges::any_of(lengths, [](auto one) { return one < 0 || one > kMostBlock; }))
      return Invalid("the blocks of a distributed dimension have 1 to ", kMostBlock, " indices");
    ranks->Add(memories,
               Ownership(ranks->grid(), std::move(sizes), std::move(along), std::move(lengths)));
    return nullptr;
  });
}

void kdl_ranks_remove(kdl_ranks* ranks, const kdl_array* tensor) { ranks->Remove(*tensor); }

kdl_error* kdl_ranks_fetch(kdl_ranks* ranks, const kdl_array* tensor, std::int64_t rank,
                           const std::int64_t* first, const std::int64_t* end, const char* cause) {
  KDL_RETURN_IF_UNUSABLE(ranks, tensor, cause);
  return Guard([&] { return ranks->Fetch(*tensor, rank, first, end, cause); });
}

kdl_error* kdl_ranks_start_fetches(kdl_ranks* ranks, kdl_queue* queue) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] { return ranks->Start(queue); });
}

kdl_error* kdl_ranks_finish_fetches(kdl_ranks* ranks) {
  KDL_RETURN_IF_UNUSABLE(ranks);
  return Guard([&] { return ranks->Finish(); });
}

kdl_error* kdl_ranks_rewritten(kdl_ranks* ranks, const kdl_array* tensor) {
  KDL_RETURN_IF_UNUSABLE(ranks, tensor);
  return Guard([&] { return ranks->Rewritten(*tensor); });
}

std::int64_t kdl_ranks_get_traffic(const kdl_ranks* ranks, kdl_rank_traffic* traffic,
                                   std::int64_t capacity) {
  std::int64_t count = 0;
  for (const auto& [tensor, causes] : ranks->traffic()) {
    for (const auto& [cause, sent] : causes) {
      if (count < capacity)
        traffic[count] = {tensor.c_str(), cause.c_str(), sent.messages, sent.bytes};
      ++count;
    }
  }
  return count;
}
