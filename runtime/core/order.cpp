#include "core/order.h"

#include <algorithm>

#include "core/text.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

constexpr std::uint64_t kHostTimeline = 0;

bool IsBefore(TimelinePoint point, const Clock& clock) {
  const auto known = clock.find(point.timeline);
  return known != clock.end() && known->second >= point.value;
}

// Whether `outer` is contiguous and contains every byte that `inner` spans.
bool Covers(const kdl_tensor& outer, const kdl_tensor& inner) {
  if (IsEmpty(inner)) return true;
  if (IsEmpty(outer)) return false;
  const kdl_region region = RegionOf(outer, 0, outer, 0);
  const auto outer_start = reinterpret_cast<std::uintptr_t>(outer.data);
  const auto inner_start = reinterpret_cast<std::uintptr_t>(inner.data);
  return region.rank == 0 && outer_start <= inner_start &&
         inner_start + static_cast<std::uintptr_t>(SpanBytes(inner)) <=
             outer_start + static_cast<std::uintptr_t>(region.run_bytes);
}

}  // namespace

void Join(Clock* clock, const Clock& other) {
  for (const auto& [timeline, value] : other) {
    std::uint64_t& known = (*clock)[timeline];
    known = std::max(known, value);
  }
}

std::string AccessLog::FindConflict(const Access& access, const Clock& clock) const {
  for (const Record& record : records_) {
    if (!record.writes && !access.writes) continue;
    if (IsBefore(record.point, clock) || !Overlap(record.view, access.view)) continue;
    return Concat(record.who, record.writes ? " writes it" : " reads it");
  }
  return "";
}

void AccessLog::Add(const Access& access, const Clock& clock, TimelinePoint point,
                    const std::string& who) {
  // If this access covers an older record's access, and that access happens before this one, the record is no
  // longer needed: a later access that races with the older access also races with this one.
  std::erase_if(records_, [&](const Record& record) {
    return IsBefore(record.point, clock) && (access.writes || !record.writes) &&
           Covers(access.view, record.view);
  });
  // An ordinary program needs far fewer records. If a service reads one buffer forever, the oldest records
  // are dropped, so that memory does not grow without limit.
  constexpr std::size_t kMostRecords = 1000;
  if (records_.size() == kMostRecords) records_.erase(records_.begin());
  records_.push_back({access.view, access.writes, point, who});
}

void HostOrder::Learn(const Clock& clock, TimelinePoint point) {
  Join(&clock_, clock);
  std::uint64_t& known = clock_[point.timeline];
  known = std::max(known, point.value);
}

std::string HostOrder::Touch(const Access& access, AccessLog* log) {
  std::string conflict = log->FindConflict(access, clock_);
  if (!conflict.empty()) return conflict;
  const TimelinePoint point = {kHostTimeline, ++clock_[kHostTimeline]};
  log->Add(access, clock_, point, "the host");
  return "";
}

}  // namespace kdl::runtime
