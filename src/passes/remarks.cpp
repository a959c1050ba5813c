#include "passes/remarks.h"

#include <algorithm>
#include <functional>
#include <map>

namespace kdl::passes {

namespace {

// If the kernel would save less than this part of its time by following only this remark, the remark is
// dropped. Smaller parts are within the error of the estimates.
constexpr double kLeastShare = 0.15;

}  // namespace

void RemarkSink::AddRemark(Remark remark) {
  auto same = std::ranges::find_if(all_, [&](const Remark& known) {
    return known.id == remark.id && known.kernel == remark.kernel && known.loc == remark.loc;
  });
  if (same == all_.end()) {
    all_.push_back(std::move(remark));
  } else if (remark.cycles != kCostsNoTime) {
    same->cycles += remark.cycles;
  }
}

std::vector<Remark> RemarkSink::Considerable() const {
  std::map<Name, double> times = work_;
  for (const Remark& remark : all_) {
    if (remark.cycles > 0) times[remark.kernel] += remark.cycles;
  }
  std::multimap<double, Remark, std::greater<>> by_cost;
  for (Remark remark : all_) {
    auto work = work_.find(remark.kernel);
    if (work == work_.end()) continue;
    bool costs_time = remark.cycles != kCostsNoTime;
    bool matters = remark.cycles > kLeastShare * (work->second + remark.cycles);
    if (costs_time && !matters) continue;
    remark.share = costs_time ? remark.cycles / times.at(remark.kernel) : 0;
    by_cost.emplace(remark.cycles, std::move(remark));
  }
  std::vector<Remark> chosen;
  for (auto& [cycles, remark] : by_cost) chosen.push_back(std::move(remark));
  return chosen;
}

}  // namespace kdl::passes
