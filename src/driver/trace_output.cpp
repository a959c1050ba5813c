#include "driver/trace_output.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/files.h"

namespace kdl::driver {

namespace {

constexpr const char* kVariable = "KDL_TRACE";

/// A process runs one command, and code that creates contexts does not know it.
TraceOutput* current = nullptr;

std::string TemporaryPath(const TemporaryFolder& folder) { return folder.path() + "/trace.json"; }

}  // namespace

TraceOutput::TraceOutput() {
  current = this;
  const char* path = std::getenv(kVariable);
  if (path == nullptr || *path == '\0') return;
  path_ = path;
  folder_.emplace(TemporaryFolder::Make());
  if (folder_->ok()) {
    setenv(kVariable, TemporaryPath(**folder_).c_str(), 1);
  } else {
    unsetenv(kVariable);
  }
}

TraceOutput::~TraceOutput() { current = nullptr; }

bool TraceOutput::MayWrite(DiagnosticEngine& diagnostics) {
  if (path_.empty()) return true;
  if (!folder_->ok()) {
    diagnostics.Report(diag::MachineFailed, {}, folder_->failure().message);
    return false;
  }
  std::vector<std::string> outputs;
  if (!is_checked_) outputs.push_back(path_);
  is_checked_ = true;
  return driver::MayWrite(outputs, "name another file in KDL_TRACE", diagnostics);
}

void TraceOutput::Write(DiagnosticEngine& diagnostics) {
  if (path_.empty() || !folder_->ok()) return;
  std::error_code none;
  std::string made = TemporaryPath(**folder_);
  if (!std::filesystem::exists(made, none) || !MayWrite(diagnostics)) return;
  Result<std::string> trace = ReadFile(made, kMostOfTool);
  if (!trace.ok()) {
    diagnostics.Report(diag::MachineFailed, {}, trace.failure().message);
    return;
  }
  WriteOutputFiles({{path_, std::move(*trace)}}, diagnostics);
}

bool MayWriteTrace(DiagnosticEngine& diagnostics) {
  return current == nullptr || current->MayWrite(diagnostics);
}

}  // namespace kdl::driver
