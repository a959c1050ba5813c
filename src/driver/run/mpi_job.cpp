#include "driver/run/mpi_job.h"

#include <algorithm>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/run/devices.h"

namespace kdl::driver {

FileContents MpiJob::FirstContents() {
  return MpiProcess::IsLaunched() ? FileContents::Headers : FileContents::All;
}

void MpiJob::Inspect(const ir::Module& module) {
  may_share_ = std::ranges::any_of(module.devices, [](const ir::Device& device) {
    return device.has_ranks && device.rank_count == 0;
  });
}

std::optional<LocalRanks> MpiJob::FindRanks(const ir::Module& module,
                                            DiagnosticEngine& diagnostics) {
  auto device = std::ranges::find_if(module.devices, &ir::Device::has_ranks);
  if (device == module.devices.end()) return LocalRanks();
  int64_t count = device->rank_count;
  LocalRanks ranks{{}, 0, std::max<int64_t>(count, 1), nullptr};
  if (count == 0 && MpiProcess::IsLaunched()) {
    auto joined = MpiProcess::Join();
    if (!joined.ok()) {
      diagnostics.Report(diag::MachineFailed, {}, joined.failure().message);
      return std::nullopt;
    }
    mpi_ = std::move(*joined);
    count = mpi_->count();
    ranks = {{}, mpi_->rank(), mpi_->rank() + 1, &mpi_->transport()};
  }
  auto grid = GridOf(*device, std::max<int64_t>(count, 1), diagnostics);
  if (!grid) return std::nullopt;
  ranks.grid = *std::move(grid);
  return ranks;
}

int MpiJob::End(int code) {
  if (!mpi_ && code != 0 && may_share_) MpiProcess::EndJob(code);
  if (!mpi_) return code;
  if (code != 0) mpi_->Abort(code);
  return mpi_->Close().ok() ? code : kExitEnvironment;
}

}  // namespace kdl::driver
