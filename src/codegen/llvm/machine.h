#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

namespace kdl::codegen {

enum class FileType : uint8_t { Object, Assembly };

/// The implementation of a Backend.
class Machine {
 public:
  Machine(std::unique_ptr<llvm::TargetMachine> target_machine, int opt_level)
      : target_machine_(std::move(target_machine)), opt_level_(opt_level) {}

  llvm::TargetMachine& target_machine() const { return *target_machine_; }
  int opt_level() const { return opt_level_; }

  /// Makes an empty module for this machine.
  std::unique_ptr<llvm::Module> MakeModule(llvm::LLVMContext& context,
                                           const std::string& name) const;

  /// Lowers `module` to an object or to assembly. Changes `module`.
  std::string Emit(llvm::Module& module, FileType type) const;

 private:
  std::unique_ptr<llvm::TargetMachine> target_machine_;
  int opt_level_;
};

}  // namespace kdl::codegen
