#include "cluster/cluster_trace.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace kdl::runtime {

namespace {

// Turns the events of a cluster into spans, one event after the other. A cluster runs one core at a time. Its block copies
// advance in the order in which they began, so a copy is in progress from when it began, or the copy before it ended.
class EventSpans {
 public:
  EventSpans(std::int64_t number, const kdl_launch_request& request)
      : name_(Concat("cluster ", number)), request_(request) {}

  void Add(const kdl_cluster_event& event) {
    const auto now = static_cast<std::int64_t>(event.ns);
    switch (event.kind) {
      case kdl_cluster_core_begins:
        core_since_ = now;
        begun_.clear();
        break;
      case kdl_cluster_core_ends:
        Report("", request_.kernel->name, core_since_, now, 0);
        break;
      case kdl_cluster_copy_begins:
        begun_[event.number] = {now, static_cast<std::int64_t>(event.bytes)};
        break;
      case kdl_cluster_copy_awaited:
        awaited_ = event.number;
        waits_since_ = now;
        break;
      case kdl_cluster_copy_ends:
        EndCopy(event.number, now);
        break;
      default:
        break;
    }
  }

  // Says that the cluster had no room for this number of events.
  void AddLost(std::uint64_t lost) {
    if (lost > 0) Report("", Concat(lost, " events not recorded"), last_, last_, 0);
  }

 private:
  struct Begun {
    std::int64_t ns;
    std::int64_t bytes;
  };

  void EndCopy(std::uint64_t number, std::int64_t now) {
    const auto begun = begun_.find(number);
    if (begun == begun_.end()) return;
    Report(" copies", "block copy", std::max(begun->second.ns, copied_until_), now,
           begun->second.bytes);
    copied_until_ = now;
    begun_.erase(begun);
    if (waits_since_ == 0 || number != awaited_) return;
    Report(" waits", "waits for a block copy", waits_since_, now, 0);
    waits_since_ = 0;
  }

  void Report(const char* part, const std::string& what, std::int64_t begin, std::int64_t end,
              std::int64_t bytes) {
    last_ = std::max(last_, end);
    // The host does not trust the cluster's numbers.
    if (begin <= 0 || end < begin || bytes < 0) return;
    const std::string row = name_ + part;
    request_.observer->ran(request_.observer->context, row.c_str(), what.c_str(), begin, end,
                           bytes);
  }

  const std::string name_;
  const kdl_launch_request& request_;
  std::map<std::uint64_t, Begun>
      begun_;  // the copies of the current core that have begun, but not ended
  std::int64_t core_since_ = 0;
  std::int64_t copied_until_ = 0;
  std::uint64_t awaited_ = 0;
  std::int64_t waits_since_ = 0;  // 0 if no thread waits for a copy
  std::int64_t last_ = 0;
};

}  // namespace

void ReportEvents(const ClusterProcess& cluster, const kdl_launch_request& request) {
  EventSpans spans(cluster.number(), request);
  for (const kdl_cluster_event& event : cluster.Events()) spans.Add(event);
  spans.AddLost(cluster.LostEvents());
}

}  // namespace kdl::runtime
