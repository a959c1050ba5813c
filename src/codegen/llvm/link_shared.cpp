#include "codegen/llvm/link_shared.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/Signals.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/end_without_memory.h"

LLD_HAS_DRIVER(elf)

namespace kdl::codegen {

namespace {

/// While one exists, lld returns to its caller where it would otherwise end the process.
class Survival {
 public:
  /// `messages` receives the reason if LLVM cannot continue, for example because the disk is full.
  explicit Survival(llvm::raw_ostream& messages) : handler_(Leave, &messages) {
    llvm::CrashRecoveryContext::Enable();
  }
  Survival(const Survival&) = delete;
  Survival& operator=(const Survival&) = delete;
  ~Survival() {
    // lld removes its output if a signal ends the process. LLVM's handlers would stay, and ignore a first SIGQUIT.
    llvm::sys::unregisterHandlers();
    llvm::CrashRecoveryContext::Disable();
  }

 private:
  static void Leave(void* messages, const char* reason, bool /*is_crash*/) {
    *static_cast<llvm::raw_ostream*>(messages) << reason;
    if (auto* lld = llvm::CrashRecoveryContext::GetCurrent()) lld->HandleExit(1);
  }

  llvm::ScopedFatalErrorHandler handler_;
};

}  // namespace

Status LinkShared(const std::vector<std::string>& inputs, const std::string& output) {
  static bool usable = true;
  if (!usable) return Failure{"cannot link kernels after lld has failed", FailureKind::Environment};
  // One thread is enough for objects of this size, and starting others would take longer than linking. If the
  // output were mapped into memory, a full disk would be a bus error.
  std::vector<const char*> words = {
      "ld.lld",      "-shared", "-z",          "defs", "--build-id=none", "--no-mmap-output-file",
      "--threads=1", "-o",      output.c_str()};
  for (const std::string& input : inputs) words.push_back(input.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const EndWithoutMemory no_memory;
  Survival survival(stream);
  lld::Result end = lld::lldMain(words, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = end.canRunAgain;
  if (end.retCode == 0) return {};
  if (stream.str().empty()) stream << "lld ended with code " << end.retCode;
  return Failure{"cannot link kernels: " + llvm::StringRef(stream.str()).rtrim().str(),
                 FailureKind::Environment};
}

}  // namespace kdl::codegen
