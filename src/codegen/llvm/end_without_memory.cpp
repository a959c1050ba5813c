#include "codegen/llvm/end_without_memory.h"

#include <llvm/Support/ErrorHandling.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

namespace kdl::codegen {

namespace {

constexpr int kExitEnvironment = 3;  // driver/diagnostics.h

// Runs no destructors, and allocates nothing.
[[noreturn]] void End() {
  std::fputs("kernelc: error: not enough memory\n", stderr);
  std::_Exit(kExitEnvironment);
}

void EndForLlvm(void* /*data*/, const char* /*reason*/, bool /*is_crash*/) { End(); }

std::mutex g_mutex;
int g_existing = 0;
std::new_handler g_before = nullptr;

}  // namespace

EndWithoutMemory::EndWithoutMemory() {
  const std::lock_guard lock(g_mutex);
  if (++g_existing > 1) return;
  g_before = std::set_new_handler(End);
  llvm::install_bad_alloc_error_handler(EndForLlvm);
}

EndWithoutMemory::~EndWithoutMemory() {
  const std::lock_guard lock(g_mutex);
  if (--g_existing > 0) return;
  std::set_new_handler(g_before);
  llvm::remove_bad_alloc_error_handler();
}

}  // namespace kdl::codegen
