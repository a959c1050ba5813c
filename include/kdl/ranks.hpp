// The ranks of a compiled program in C++ on top of ranks.h. An application only needs kdl_use_mpi (use_mpi.h), or
// kdl_context_set_transport.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "kdl/argument.hpp"
#include "kdl/ranks.h"
#include "kdl/runtime.hpp"

namespace kdl::inline KDL_VERSIONED {

// An argument of a program with its name in the source.
struct NamedArgument {
  const char* name;
  Argument value;
};

// Calls `body` in all processes of the context, if they call the same program with the same arguments. If something fails in one of
// them, throws the same error in all.
template <class Body>
void RunOverRanks(const Context& context, const char* program, const char* code,
                  std::initializer_list<NamedArgument> arguments, const char* place, Body body) {
  std::vector<kdl_named_arg> args;
  kdl_error* failure = Try([&] {
    for (const NamedArgument& one : arguments) args.push_back({one.name, one.value.get()});
  });
  Check(kdl_ranks_begin_call(context.get(), program, code, args.data(),
                             static_cast<std::int32_t>(args.size()), place, failure));
  Check(kdl_ranks_end_call(context.get(), Try(body)));
}

// The ranks of a device during one call of a program.
class Ranks {
 public:
  // Without a shape, the ranks have one axis.
  Ranks(const Context& context, const std::vector<std::int64_t>& shape) {
    kdl_ranks* ranks = nullptr;
    Check(kdl_ranks_create(context.get(), shape.data(), static_cast<std::int32_t>(shape.size()),
                           &ranks));
    ranks_.reset(ranks);
  }

  kdl_ranks* get() const { return ranks_.get(); }
  void Use(const Queue& queue) const { Check(kdl_ranks_use_queue(ranks_.get(), queue.get())); }
  std::int64_t count() const { return kdl_ranks_count(ranks_.get()); }
  std::int64_t first() const { return kdl_ranks_first(ranks_.get()); }
  std::int64_t end() const { return kdl_ranks_end(ranks_.get()); }
  std::int64_t OwnedFirst(std::int64_t size, std::int64_t rank, std::int64_t axis) const {
    return kdl_ranks_owned_first(ranks_.get(), size, rank, axis);
  }
  std::int64_t OwnedEnd(std::int64_t size, std::int64_t rank, std::int64_t axis) const {
    return kdl_ranks_owned_end(ranks_.get(), size, rank, axis);
  }

  // The blocks of a rank in a dimension that is distributed in blocks, and the indices in one of them.
  std::int64_t OwnedBlocks(std::int64_t size, std::int64_t rank, std::int64_t axis,
                           std::int64_t block) const {
    return kdl_ranks_owned_blocks(ranks_.get(), size, rank, axis, block);
  }
  std::int64_t OwnedBlockFirst(std::int64_t size, std::int64_t rank, std::int64_t number,
                               std::int64_t axis, std::int64_t block) const {
    return kdl_ranks_owned_block_first(ranks_.get(), size, rank, axis, block, number);
  }
  std::int64_t OwnedBlockEnd(std::int64_t size, std::int64_t rank, std::int64_t number,
                             std::int64_t axis, std::int64_t block) const {
    return kdl_ranks_owned_block_end(ranks_.get(), size, rank, axis, block, number);
  }

  void Add(const Tensor& tensor, const std::vector<std::int64_t>& axes) const {
    Check(kdl_ranks_add(ranks_.get(), &tensor.array(), axes.data(), nullptr));
  }
  void AddBlocks(const Tensor& tensor, const std::vector<std::int64_t>& axes,
                 const std::vector<std::int64_t>& blocks) const {
    Check(kdl_ranks_add(ranks_.get(), &tensor.array(), axes.data(), blocks.data()));
  }
  // Waits for the events in `after`, which write what is sent.
  void Fetch(const Tensor& tensor, std::int64_t rank, std::initializer_list<std::int64_t> first,
             std::initializer_list<std::int64_t> end, const char* cause,
             std::initializer_list<Event> after, const char* place) const {
    for (const Event& event : after) event.Wait();
    Check(kdl_ranks_fetch(ranks_.get(), &tensor.array(), rank, first.begin(), end.begin(), cause),
          place);
  }
  void StartFetches() const { Check(kdl_ranks_start_fetches(ranks_.get(), nullptr)); }
  void FinishFetches() const { Check(kdl_ranks_finish_fetches(ranks_.get())); }
  // Waits for the events in `after`, which use the tensor.
  void Rewritten(const Tensor& tensor, std::initializer_list<Event> after = {}) const {
    for (const Event& event : after) event.Wait();
    Check(kdl_ranks_rewritten(ranks_.get(), &tensor.array()));
  }

 private:
  struct Free {
    void operator()(kdl_ranks* ranks) const { kdl_ranks_free(ranks); }
  };
  std::unique_ptr<kdl_ranks, Free> ranks_;
};

}  // namespace kdl::inline KDL_VERSIONED
