#include "codegen/llvm/report_crashes.h"

#include <llvm/Support/ErrorHandling.h>

#include <mutex>

#include "support/check.h"

namespace kdl::codegen {

namespace {

std::mutex g_crash_mutex;
int g_crash_reporters = 0;

void FailForLlvm(void* /*data*/, const char* reason, bool /*is_crash*/) {
  KDL_UNREACHABLE("LLVM: {}", reason);
}

}  // namespace

ReportCrashes::ReportCrashes() {
  const std::lock_guard lock(g_crash_mutex);
  if (++g_crash_reporters == 1) llvm::install_fatal_error_handler(FailForLlvm);
}

ReportCrashes::~ReportCrashes() {
  const std::lock_guard lock(g_crash_mutex);
  if (--g_crash_reporters == 0) llvm::remove_fatal_error_handler();
}

}  // namespace kdl::codegen
