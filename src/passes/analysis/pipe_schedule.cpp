#include "passes/analysis/pipe_schedule.h"

#include <algorithm>
#include <set>

namespace kdl::passes {

namespace {

using Kind = TrafficItem::Kind;

constexpr int64_t kMostIterations = 64;  ///< the maximum number of iterations of an unrolled loop
constexpr size_t kMostItems = 1 << 14;   ///< the maximum number of items of a stage after unrolling
constexpr int kMostForks = 256;  ///< the maximum number of branches of which both sides are tried

/// A stage during simulation. `rest` contains the items that the stage still has to run, in reverse order.
struct Walker {
  std::vector<const TrafficItem*> rest;

  explicit Walker(const Traffic& traffic) { Add(traffic); }
  bool done() const { return rest.empty(); }
  const TrafficItem& next() const { return *rest.back(); }
  void Add(const Traffic& traffic) {
    for (auto item = traffic.rbegin(); item != traffic.rend(); ++item) rest.push_back(&*item);
  }
};

void CollectPipes(const Traffic& traffic, std::set<const Value*>& pipes) {
  for (const TrafficItem& item : traffic) {
    if (item.pipe) pipes.insert(item.pipe);
    CollectPipes(item.body, pipes);
    CollectPipes(item.other, pipes);
  }
}

/// Returns whether two loops have the same iterations. Equal numbers of iterations are enough if the pushes
/// and pops of both loops are the same in all iterations.
bool SameIterations(const TrafficItem& a, const TrafficItem& b) {
  if (IterationCount(a.op) != IterationCount(b.op)) return false;
  return IterationSpaceName(a.op) == IterationSpaceName(b.op) ||
         (!DiffersByIteration(a) && !DiffersByIteration(b));
}

bool SameCondition(const TrafficItem& a, const TrafficItem& b) {
  if (a.op->operand(0) == b.op->operand(0)) return true;
  std::optional<Condition> of_a = SharedCondition(a);
  std::optional<Condition> of_b = SharedCondition(b);
  return of_a && of_b && of_a->name == of_b->name;
}

bool Same(const Traffic& a, const Traffic& b);

bool SameItems(const TrafficItem& a, const TrafficItem& b) {
  if (a.kind != b.kind || a.pipe != b.pipe || !Same(a.body, b.body) || !Same(a.other, b.other))
    return false;
  if (a.kind == Kind::Loop) return SameIterations(a, b);
  return a.kind != Kind::Branch || SameCondition(a, b) || Same(a.body, a.other);
}

/// Returns whether two lists contain the same items in the same order.
bool Same(const Traffic& a, const Traffic& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameItems);
}

std::optional<int64_t> ConstantIterations(const TrafficItem& loop) {
  Count iterations = IterationCount(loop.op);
  if (iterations.empty()) return 0;
  bool constant = iterations.size() == 1 && iterations.begin()->first.empty();
  return constant ? std::optional(iterations.begin()->second) : std::nullopt;
}

class Scheduler {
 public:
  explicit Scheduler(Schedule& schedule) : schedule_(schedule) {}

  /// Simulates the stages until all of them have ended. Each walker is the state of one stage. Returns false
  /// if some stages get stuck.
  bool RunWalkers(std::vector<Walker> walkers) {
    while (!std::all_of(walkers.begin(), walkers.end(), [](const Walker& w) { return w.done(); })) {
      if (Pop(walkers) || Push(walkers, true) || WalkTogether(walkers) || Push(walkers, false) ||
          TakeBranch(walkers) || Unroll(walkers)) {
        continue;
      }
      auto branch = std::find_if(walkers.begin(), walkers.end(),
                                 [](const Walker& w) { return IsAt(w, Kind::Branch); });
      if (branch != walkers.end() && forks_++ < kMostForks)
        return Fork(walkers, static_cast<size_t>(branch - walkers.begin()));
      Report(walkers);
      return false;
    }
    return true;
  }

 private:
  static bool IsAt(const Walker& walker, Kind kind) {
    return !walker.done() && walker.next().kind == kind;
  }

  bool Pop(std::vector<Walker>& walkers) {
    for (Walker& walker : walkers) {
      if (!IsAt(walker, Kind::Pop) || tiles_[walker.next().pipe] == 0) continue;
      --tiles_[walker.next().pipe];
      walker.rest.pop_back();
      return true;
    }
    return false;
  }

  /// Runs one push. If `wanted` is set, only runs a push to a pipe from which another stage waits to pop, so
  /// that pipes stay as empty as possible.
  bool Push(std::vector<Walker>& walkers, bool wanted) {
    std::set<const Value*> waited;
    for (const Walker& walker : walkers) {
      if (IsAt(walker, Kind::Pop)) waited.insert(walker.next().pipe);
    }
    for (Walker& walker : walkers) {
      if (!IsAt(walker, Kind::Push)) continue;
      const Value* pipe = walker.next().pipe;
      if (wanted && !waited.contains(pipe)) continue;
      schedule_.depth[pipe] = std::max(schedule_.depth[pipe], ++tiles_[pipe]);
      walker.rest.pop_back();
      return true;
    }
    return false;
  }

  /// Returns the walkers that are at loops which share pipes with the loop of walker `first`, directly or
  /// through other loops. Returns an empty list if one of these loops has different iterations.
  static std::vector<size_t> Group(const std::vector<Walker>& walkers, size_t first) {
    std::vector<size_t> group = {first};
    std::set<const Value*> pipes;
    CollectPipes(walkers[first].next().body, pipes);
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = 0; i < walkers.size(); ++i) {
        bool known = Contains(group, i);
        if (known || !IsAt(walkers[i], Kind::Loop)) continue;
        std::set<const Value*> own;
        CollectPipes(walkers[i].next().body, own);
        bool shares = std::any_of(own.begin(), own.end(),
                                  [&](const Value* pipe) { return pipes.contains(pipe); });
        if (!shares) continue;
        if (!SameIterations(walkers[first].next(), walkers[i].next())) return {};
        group.push_back(i);
        pipes.insert(own.begin(), own.end());
        grown = true;
      }
    }
    return group;
  }

  /// Returns whether one iteration pushes as many tiles to each pipe as it pops from that pipe.
  static bool IsEven(const std::vector<Walker>& walkers, const std::vector<size_t>& group) {
    std::set<const Value*> pipes;
    for (size_t i : group) CollectPipes(walkers[i].next().body, pipes);
    for (const Value* pipe : pipes) {
      std::vector<Count> sides;
      const ir::Op* conditional = nullptr;
      for (size_t i : group) {
        Count tiles = TileCount(walkers[i].next().body, pipe, conditional);
        if (!tiles.empty()) sides.push_back(std::move(tiles));
      }
      if (conditional || sides.size() != 2 || sides[0] != sides[1]) return false;
    }
    return true;
  }

  bool WalkTogether(std::vector<Walker>& walkers) {
    for (size_t first = 0; first < walkers.size(); ++first) {
      if (!IsAt(walkers[first], Kind::Loop)) continue;
      std::vector<size_t> group = Group(walkers, first);
      if (group.empty() || !IsEven(walkers, group)) continue;
      std::vector<Walker> iteration;
      for (size_t i : group) iteration.emplace_back(walkers[i].next().body);
      if (!RunWalkers(std::move(iteration))) return false;
      for (size_t i : group) walkers[i].rest.pop_back();
      return true;
    }
    return false;
  }

  /// Returns the name of a branch's condition if the condition has the same value during the whole
  /// simulation. After loops have been unrolled, a condition that refers to an iteration may change.
  std::optional<std::string> ConditionName(const TrafficItem& branch) const {
    std::optional<Condition> condition = SharedCondition(branch);
    if (!condition || (condition->in_iteration && unrolled_)) return std::nullopt;
    return std::move(condition->name);
  }

  /// Returns the side that a branch takes, or null if it is unknown. The side is known if both sides have the
  /// same pushes and pops, or if a value has already been assumed for the condition.
  const Traffic* Known(const TrafficItem& branch) const {
    if (Same(branch.body, branch.other)) return &branch.body;
    std::optional<std::string> condition = ConditionName(branch);
    auto decided = condition ? decided_.find(*condition) : decided_.end();
    if (decided == decided_.end()) return nullptr;
    return decided->second ? &branch.body : &branch.other;
  }

  bool TakeBranch(std::vector<Walker>& walkers) const {
    for (Walker& walker : walkers) {
      const Traffic* known = IsAt(walker, Kind::Branch) ? Known(walker.next()) : nullptr;
      if (!known) continue;
      walker.rest.pop_back();
      walker.Add(*known);
      return true;
    }
    return false;
  }

  /// Simulates the rest of the run with one side of the branch, then with the other side.
  bool Fork(const std::vector<Walker>& walkers, size_t at) {
    const TrafficItem& branch = walkers[at].next();
    std::optional<std::string> condition = ConditionName(branch);
    schedule_.guesses = schedule_.guesses || !condition;
    const std::map<const Value*, int64_t> before = tiles_;
    for (bool holds : {true, false}) {
      tiles_ = before;
      std::vector<Walker> rest = walkers;
      rest[at].rest.pop_back();
      rest[at].Add(holds ? branch.body : branch.other);
      if (condition) decided_[*condition] = holds;
      bool ends = RunWalkers(std::move(rest));
      if (condition) decided_.erase(*condition);
      if (!ends) return false;
    }
    return true;
  }

  bool Unroll(std::vector<Walker>& walkers) {
    for (Walker& walker : walkers) {
      if (!IsAt(walker, Kind::Loop)) continue;
      const TrafficItem& loop = walker.next();
      std::optional<int64_t> iterations = ConstantIterations(loop);
      if (!iterations || *iterations > kMostIterations || walker.rest.size() > kMostItems) continue;
      walker.rest.pop_back();
      unrolled_ = true;
      for (int64_t iteration = 0; iteration < *iterations; ++iteration) walker.Add(loop.body);
      return true;
    }
    return false;
  }

  void Report(const std::vector<Walker>& walkers) {
    if (!schedule_.stuck.empty()) return;
    schedule_.waiting = !schedule_.guesses;
    for (const Walker& walker : walkers) {
      if (walker.done()) continue;
      schedule_.stuck.push_back(walker.next().op);
      schedule_.waiting = schedule_.waiting && walker.next().kind == Kind::Pop;
    }
  }

  Schedule& schedule_;
  std::map<const Value*, int64_t> tiles_;
  /// The values assumed for conditions, while the branches on them are followed.
  std::map<std::string, bool> decided_;
  int forks_ = 0;
  bool unrolled_ = false;  ///< if set, equal names may refer to different iterations
};

}  // namespace

Schedule FindSchedule(const std::vector<StageTraffic>& stages) {
  Schedule schedule;
  std::vector<Walker> walkers;
  for (const StageTraffic& stage : stages) walkers.emplace_back(stage.traffic);
  schedule.ends = Scheduler(schedule).RunWalkers(std::move(walkers));
  return schedule;
}

}  // namespace kdl::passes
