#include "tools/loading/load.h"

#include <string>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/emit/host_object.h"
#include "driver/emit/outputs.h"
#include "driver/emit/toolchain.h"
#include "driver/run/executor.h"
#include "driver/trace_output.h"
#include "support/io.h"
#include "targets/hosts.h"
#include "tools/loading/interpreters.h"

namespace kdl::tools {

driver::Context Load(driver::Session& s, driver::Compilation& made, LoadedImage* image) {
  if (!driver::RunsHere(made.code, s.diagnostics) || !driver::MayWriteTrace(s.diagnostics))
    return nullptr;
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  kdl_context* context_made = nullptr;
  Status status =
      folder.ok() ? driver::StatusOf(kdl_context_create(&context_made)) : Status(folder.failure());
  driver::Context context(context_made);
  if (status.ok()) status = AddInterpreters(context.get(), s.families);
  if (status.ok()) {
    std::vector<std::string> objects = driver::WriteObjects(
        s, made, targets::OwnArch(), driver::EmbedsIr(s.options, made.code), folder->path());
    std::string shared = folder->path() + "/kernels.so";
    if (objects.empty() || !driver::LinkImages(objects, shared, s.diagnostics)) return nullptr;
    status = driver::StatusOf(kdl_context_load(context.get(), shared.c_str()));
    if (status.ok() && image) {
      Result<std::string> bytes = ReadFile(shared, kMostOfTool);
      status = bytes.ok() ? Status() : Status(bytes.failure());
      if (bytes.ok()) *image = {shared, std::move(*bytes)};
    }
  }
  if (status.ok()) return context;
  s.diagnostics.Report(driver::diag::MachineFailed, {}, status.failure().message);
  return nullptr;
}

}  // namespace kdl::tools
