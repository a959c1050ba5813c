#include "api/fetch_plans.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "kdl/checkpoint_text.hpp"

namespace kdl::runtime {

using ranks::Box;
using ranks::Exchange;
using ranks::Indices;
using ranks::Ownership;

namespace {

// How many numbers the kept plans contain at most. With many ranks, a plan has many requests.
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;

std::size_t CountNumbers(const FetchPlan& plan) {
  std::size_t count = plan.requests.size() + 3 * plan.kinds.size();
  for (const PlannedMessage& message : plan.messages)
    for (const Box& box : message.boxes) count += 2 * box.size();
  return count;
}

}  // namespace

std::int64_t FetchPlans::KindOf(const Ownership& ownership, std::int32_t element_bits) {
  const auto known = std::ranges::find_if(kinds_, [&](const Kind& kind) {
    return kind.element_bits == element_bits && kind.ownership == ownership;
  });
  if (known != kinds_.end()) return known - kinds_.begin();
  kinds_.push_back({ownership, element_bits});
  return std::ssize(kinds_) - 1;
}

void FetchPlans::Request(RankTensor& tensor, std::int64_t rank, const std::int64_t* first,
                         const std::int64_t* end, std::string_view cause) {
  const auto number_of = [](auto& known, const auto& wanted) {
    auto at = std::ranges::find(known, wanted);
    if (at == known.end()) at = known.emplace(at, wanted);
    return at - known.begin();
  };
  requests_.push_back(number_of(tensors_, &tensor));
  requests_.push_back(rank);
  requests_.push_back(number_of(causes_, cause));
  const std::vector<std::int64_t>& sizes = tensor.ownership().sizes();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const Indices needed = Intersection(Indices{0, sizes[d]}, Indices{first[d], end[d]});
    requests_.push_back(needed.first);
    requests_.push_back(needed.end);
  }
}

template <class Use>
void FetchPlans::ForEachRequest(const FetchPlan& plan, Use use) const {
  for (auto at = plan.requests.begin(); at != plan.requests.end();) {
    const auto tensor = static_cast<std::size_t>(*at++);
    const std::int64_t rank = *at++;
    const std::string& cause = causes_[static_cast<std::size_t>(*at++)];
    const auto kind = static_cast<std::size_t>(plan.kinds[tensor]);
    Box box(kinds_[kind].ownership.sizes().size());
    for (Indices& indices : box) {
      indices.first = *at++;
      indices.end = *at++;
    }
    use(tensor, rank, cause, box);
  }
}

bool FetchPlans::Fits(const FetchPlan& plan) const {
  if (plan.kinds.size() != tensors_.size() || plan.requests != requests_) return false;
  for (std::size_t t = 0; t < tensors_.size(); ++t)
    if (plan.kinds[t] != tensors_[t]->kind || plan.states_before[t] != tensors_[t]->state)
      return false;
  return true;
}

std::uint64_t FetchPlans::HashPending() const {
  std::uint64_t hash = tensors_.size();
  const auto add = [&](std::int64_t number) {
    hash = checkpoints::Mixed(hash + static_cast<std::uint64_t>(number));
  };
  for (const RankTensor* tensor : tensors_) {
    add(tensor->kind);
    add(tensor->state);
  }
  for (const std::int64_t number : requests_) add(number);
  return hash;
}

const FetchPlan& FetchPlans::Plan() {
  if (plan_ != nullptr) return *plan_;
  const std::uint64_t hash = HashPending();
  const auto [first, last] = plans_by_hash_.equal_range(hash);
  const auto known = std::find_if(first, last, [&](const auto& one) { return Fits(*one.second); });
  plan_ = known == last ? nullptr : known->second;
  if (plan_ == nullptr) {
    std::unique_ptr<FetchPlan> made = Make();
    plan_ = made.get();
    const std::size_t numbers = CountNumbers(*made);
    if (kept_numbers_ + numbers <= kMostNumbers) {
      kept_numbers_ += numbers;
      plans_by_hash_.emplace(hash, plan_);
      plans_.push_back(std::move(made));
    } else {
      unkept_ = std::move(made);
    }
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    tensors_[t]->state = plan_->first_state + static_cast<std::int64_t>(t);
    tensors_[t]->received += plan_->received[t];
  }
  return *plan_;
}

std::vector<Box> FetchPlans::PendingOf(const RankTensor& tensor, std::int64_t rank) const {
  std::vector<Box> boxes;
  if (plan_ == nullptr) return boxes;
  ForEachRequest(*plan_, [&](std::size_t of, std::int64_t to, const std::string&, const Box& box) {
    if (tensors_[of] == &tensor && to == rank) boxes.push_back(box);
  });
  return boxes;
}

std::int64_t FetchPlans::Forget(RankTensor& tensor) {
  const std::int64_t before = tensor.received;
  const auto pending = std::ranges::find(tensors_, &tensor);
  if (pending == tensors_.end()) {
    tensor.state = 0;
    tensor.received = 0;
    return before;
  }
  const FetchPlan& plan = Plan();
  const auto at = static_cast<std::size_t>(pending - tensors_.begin());
  tensor.state = plan.first_state + std::ssize(tensors_) + static_cast<std::int64_t>(at);
  tensor.received = plan.received[at];
  if (&plan == unkept_.get()) Update(tensor);  // later, there may be another plan that is not kept
  return before - tensor.received;
}

// Afterwards, the exchanges of the tensors are in the state after the plan.
std::unique_ptr<FetchPlan> FetchPlans::Make() {
  auto plan = std::make_unique<FetchPlan>();
  plan->requests = requests_;
  plan->first_state = next_state_;
  plan->received.resize(tensors_.size());
  for (RankTensor* tensor : tensors_) {
    plan->kinds.push_back(tensor->kind);
    plan->states_before.push_back(tensor->state);
    Update(*tensor);
    tensor->exchange_state = next_state_++;
  }
  next_state_ += std::ssize(tensors_);
  ForEachRequest(*plan, [&](std::size_t tensor, std::int64_t rank, const std::string& cause,
                            const Box& needed) {
    tensors_[tensor]->exchange.Fetch(rank, needed, [&](std::int64_t owner, const Box& box) {
      if (local_.Has(rank)) plan->received[tensor] += CountElements(box);
      if (local_.Has(owner) || local_.Has(rank))
        AddToMessage(*plan, tensor, owner, rank, cause, box);
    });
  });
  for (std::size_t m = 0; m < plan->messages.size(); ++m) {
    PlannedMessage& message = plan->messages[m];
    const auto has_same = [&](const PlannedMessage& one) {
      return one.tensor == message.tensor && one.from == message.from && one.boxes == message.boxes;
    };
    const auto same = std::ranges::find_if(plan->messages, has_same);
    message.same = static_cast<std::size_t>(same - plan->messages.begin());
  }
  return plan;
}

void FetchPlans::AddToMessage(FetchPlan& plan, std::size_t tensor, std::int64_t from,
                              std::int64_t to, const std::string& cause, const Box& box) const {
  auto message = std::ranges::find_if(plan.messages, [&](const PlannedMessage& one) {
    return one.tensor == tensor && one.from == from && one.to == to;
  });
  if (message == plan.messages.end()) {
    const std::int64_t tag = plan.first_state + static_cast<std::int64_t>(tensor);
    plan.messages.push_back({tensor, from, to, tag, cause, {}, 0, 0});
    message = plan.messages.end() - 1;
  }
  message->boxes.push_back(box);
  const auto kind = static_cast<std::size_t>(plan.kinds[tensor]);
  message->bytes += CountElements(box) * (kinds_[kind].element_bits / 8);
}

void FetchPlans::Update(RankTensor& tensor) const {
  if (tensor.exchange_state == tensor.state) return;
  ReceiveUpTo(tensor.state, tensor.exchange);
  tensor.exchange_state = tensor.state;
}

void FetchPlans::ReceiveUpTo(std::int64_t state, Exchange& exchange) const {
  if (state == 0) return exchange.Forget();
  const auto after = std::ranges::upper_bound(plans_, state, {}, &FetchPlan::first_state);
  const FetchPlan* kept = after == plans_.begin() ? nullptr : std::prev(after)->get();
  const bool has_state = kept != nullptr && state < kept->first_state + 2 * std::ssize(kept->kinds);
  // The exchanges have already been in the states of earlier plans that are not kept.
  const FetchPlan& plan = has_state ? *kept : *unkept_;
  const auto number = static_cast<std::size_t>(state - plan.first_state);
  const std::size_t wanted = number % plan.kinds.size();
  ReceiveUpTo(number == wanted ? plan.states_before[wanted] : 0, exchange);
  ForEachRequest(plan,
                 [&](std::size_t tensor, std::int64_t rank, const std::string&, const Box& needed) {
                   if (tensor == wanted)
                     exchange.Fetch(rank, needed, [](std::int64_t, const Box&) {});
                 });
}

void FetchPlans::Clear() {
  tensors_.clear();
  requests_.clear();
  plan_ = nullptr;
}

}  // namespace kdl::runtime
