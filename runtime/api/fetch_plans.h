// Which messages satisfy the requests of ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "kdl/first_and_others.hpp"
#include "kdl/rank_ownership.hpp"
#include "kdl/ranks.h"

namespace kdl::runtime {

// The memories of a distributed tensor, and what ranks have received of it.
struct RankTensor {
  std::vector<kdl_array> memories;  // those of the ranks of this process
  // Tensors of the same kind have the same owners and the same element size.
  std::int64_t kind = 0;
  // Says which elements of others the ranks have: 0 if none, or else those after a plan.
  std::int64_t state = 0;
  ranks::Exchange exchange;  // as it was in the state `exchange_state`
  std::int64_t exchange_state = 0;
  std::int64_t received = 0;  // elements that the ranks of this process have got and not forgotten

  const ranks::Ownership& ownership() const { return exchange.ownership(); }
};

// Elements of one tensor that a rank sends to another one, if this process has one of these ranks.
struct PlannedMessage {
  std::size_t tensor;  // the number of the tensor among those of the plan
  std::int64_t from;
  std::int64_t to;
  std::int64_t tag;  // the same in all processes, and another one for each tensor of each plan
  std::string cause;
  std::vector<ranks::Box> boxes;
  std::int64_t bytes = 0;
  std::size_t same =
      0;  // the first message to a rank of another process with the same elements; perhaps this one
};

// The messages for a sequence of requests.
struct FetchPlan {
  std::vector<std::int64_t> requests;       // as FetchPlans writes them
  std::vector<std::int64_t> kinds;          // of the tensors, in the order of their first requests
  std::vector<std::int64_t> states_before;  // of the tensors
  // The state of the first tensor afterwards; the next one has the next number. They are followed by the states in which the ranks
  // have forgotten everything but what the plan has requested.
  std::int64_t first_state;
  std::vector<PlannedMessage> messages;
  std::vector<std::int64_t> received;  // how many elements of each tensor ranks of this process get
};

// The ranks that belong to this process.
struct LocalRange {
  std::int64_t first = 0;
  std::int64_t end = 1;

  bool Has(std::int64_t rank) const { return first <= rank && rank < end; }
};

// Collects requests, and finds the messages for them. A program mostly requests the same in each iteration of a loop, so the plans for
// earlier requests are kept. They depend on what the ranks have already received of the tensors, but not on their memories. The
// requests since Clear are *pending*.
class FetchPlans {
 public:
  explicit FetchPlans(LocalRange local) : local_(local) {}

  // Returns a number for tensors with these owners and elements.
  std::int64_t KindOf(const ranks::Ownership& ownership, std::int32_t element_bits);

  // Requests a part of the indices first[d] .. end[d] - 1 for a rank. The tensor must stay where it is until Clear.
  void Request(RankTensor& tensor, std::int64_t rank, const std::int64_t* first,
               const std::int64_t* end, std::string_view cause);
  bool empty() const { return tensors_.empty(); }
  // Whether the pending requests have a plan. Then there must be no further ones before Clear.
  bool is_planned() const { return plan_ != nullptr; }
  // Returns the messages for the pending requests. The first call also notes that the ranks have received them.
  const FetchPlan& Plan();
  // Returns the boxes of a tensor that are pending for a rank.
  std::vector<ranks::Box> PendingOf(const RankTensor& tensor, std::int64_t rank) const;
  // Notes that the ranks forget what they have received of a tensor, except for what is pending. Returns how many elements the ranks
  // of this process forget.
  std::int64_t Forget(RankTensor& tensor);
  // The tensors of the plan.
  std::span<RankTensor* const> tensors() const { return tensors_; }
  void Clear();

 private:
  struct Kind {
    ranks::Ownership ownership;
    std::int32_t element_bits;
  };

  bool Fits(const FetchPlan& plan) const;
  std::uint64_t HashPending() const;
  std::unique_ptr<FetchPlan> Make();
  void AddToMessage(FetchPlan& plan, std::size_t tensor, std::int64_t from, std::int64_t to,
                    const std::string& cause, const ranks::Box& box) const;
  // Brings the exchange of a tensor up to its state.
  void Update(RankTensor& tensor) const;
  void ReceiveUpTo(std::int64_t state, ranks::Exchange& exchange) const;
  // Calls `use(tensor, rank, cause, box)` for each request of a plan.
  template <class Use>
  void ForEachRequest(const FetchPlan& plan, Use use) const;

  LocalRange local_;
  std::vector<Kind> kinds_;
  std::vector<std::string> causes_;
  std::vector<RankTensor*> tensors_;
  // For each request: the number of its tensor, the rank, the number of its cause, and the first and the end of the indices of each dimension.
  std::vector<std::int64_t> requests_;
  std::vector<std::unique_ptr<FetchPlan>> plans_;  // in the order of their states
  std::unordered_multimap<std::uint64_t, const FetchPlan*> plans_by_hash_;
  std::size_t kept_numbers_ = 0;                       // in the plans
  std::unique_ptr<FetchPlan> unkept_;                  // the last plan that is not kept
  const FetchPlan* plan_ = nullptr;                    // that of the pending requests
  std::int64_t next_state_ = ranks::kFirstElementTag;  // states become tags
};

}  // namespace kdl::runtime
