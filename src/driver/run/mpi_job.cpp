#include "driver/run/mpi_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "driver/run/devices.h"
#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "kdl/checkpoint_text.hpp"
#include "support/render.h"

namespace kdl::driver {

namespace {

/// The time that the first process has to print errors that all processes share.
constexpr std::chrono::seconds kTimeToPrint(10);

}  // namespace

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

void MpiJob::WarnIfUnshared(const ir::Function& program, DiagnosticEngine& diagnostics) const {
  std::optional<MpiProcess::Launched> launched = MpiProcess::FindLaunched();
  bool is_shared = mpi_ && !ir::OpsOfKind(program, ir::OpKind::Ranks).empty();
  if (is_shared || !launched || launched->count < 2 || launched->rank != 0) return;
  diagnostics.Report(diag::UnsharedProgram, {}, launched->count, program.base_name())
      .Help(
          "to share the work, declare `device grid = ranks();` and distribute tensors, as in "
          "`let x: f32[M, N] on grid by (M, _);`; otherwise, start it without mpirun");
}

void MpiJob::Settle(DiagnosticEngine& diagnostics, const SourceManager& sources) {
  bool is_first = !mpi_ || mpi_->rank() == 0;
  prints_ = is_first;
  if (!diagnostics.has_errors() || !MpiProcess::IsLaunched()) return;
  if (!mpi_ && may_share_) {
    mpi_ = MpiProcess::JoinFailed([&] { PrintDiagnostics(diagnostics, sources); });
    is_first = !mpi_ || mpi_->rank() == 0;
  }
  if (!mpi_) return;
  std::vector<Diagnostic*> errors;
  for (const auto& one : diagnostics.all())
    if (one->severity == Severity::Error) errors.push_back(one.get());
  std::string text;
  for (const Diagnostic* error : errors) text += RenderText(*error, sources, false);
  bool is_shared = mpi_->SharesFailure(checkpoints::ChecksumOf(text));
  prints_ = is_first || !is_shared;
  if (is_shared) return;
  for (Diagnostic* error : errors)
    error->Note({}, fmt::format("this is an error of the process with rank {}", mpi_->rank()));
}

int MpiJob::End(int code) {
  if (!mpi_) {
    if (code != 0 && may_share_ && MpiProcess::IsLaunched()) MpiProcess::EndBySignal();
    return code;
  }
  // The first process prints the errors of this one, too, and then ends it.
  if (code != 0 && !prints_) std::this_thread::sleep_for(kTimeToPrint);
  if (code != 0) mpi_->Abort(code);
  return mpi_->Close().ok() ? code : kExitEnvironment;
}

MpiJob& OwnMpiJob() {
  static MpiJob job;
  return job;
}

}  // namespace kdl::driver
