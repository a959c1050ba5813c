#include "codegen/llvm/link_shared.h"

#include <lld/Common/Driver.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/raw_ostream.h>

LLD_HAS_DRIVER(elf)

namespace kdl::codegen {

namespace {

/// While one exists, lld returns to its caller where it would otherwise end the process.
class Survival {
 public:
  Survival() { llvm::CrashRecoveryContext::Enable(); }
  Survival(const Survival&) = delete;
  Survival& operator=(const Survival&) = delete;
  ~Survival() { llvm::CrashRecoveryContext::Disable(); }
};

}  // namespace

Status LinkShared(const std::vector<std::string>& objects, const std::string& output) {
  static bool usable = true;
  if (!usable) return Failure{"cannot link kernels after lld has failed", FailureKind::Environment};
  // One thread is enough for objects of this size, and starting others would take longer than linking.
  std::vector<const char*> words = {"ld.lld",          "-shared",     "-z", "defs",
                                    "--build-id=none", "--threads=1", "-o", output.c_str()};
  for (const std::string& object : objects) words.push_back(object.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  Survival survival;
  lld::Result end = lld::lldMain(words, stream, stream, {{lld::Gnu, &lld::elf::link}});
  usable = end.canRunAgain;
  if (end.retCode == 0) return {};
  return Failure{"cannot link kernels: " + llvm::StringRef(stream.str()).rtrim().str(),
                 FailureKind::Environment};
}

}  // namespace kdl::codegen
