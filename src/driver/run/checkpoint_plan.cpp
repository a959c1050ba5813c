#include "driver/run/checkpoint_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "driver/diagnostics.h"
#include "ir/identity.h"
#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "kdl/checkpoint_text.hpp"

namespace kdl::driver {

std::optional<CheckpointPlan> PlanCheckpoints(const ir::Function& program, const Options& options,
                                              DiagnosticEngine& diagnostics) {
  CheckpointPlan plan;
  for (const ir::Op* op : ir::OpsOfKind(program, ir::OpKind::Restore))
    plan.files.push_back(op->attr<ir::AttrKey::Text>().str());
  if (!plan.files.empty()) {
    plan.program = program.base_name();
    plan.code = checkpoints::HexText(ir::FindIdentity(program).value_or(0));
  }
  if (options.resume.empty()) return plan;
  std::error_code error;
  plan.resume = checkpoints::NameOf(options.resume, std::filesystem::current_path(error).string());
  if (std::ranges::find(plan.files, plan.resume) != plan.files.end()) return plan;
  diagnostics.Report(diag::NoSuchCheckpoint, {}, program.base_name(), options.resume)
      .Help(plan.files.empty()
                ? "begin a loop of the program with `checkpoint(…, to = \"p\", every = 100);`"
                : fmt::format("use --resume {}", fmt::join(plan.files, " or --resume ")));
  return std::nullopt;
}

}  // namespace kdl::driver
