#pragma once

#include <memory>

#include "codegen/llvm/processor.h"
#include "support/result.h"

namespace kdl::codegen {

class Machine;

/// Fails if LLVM does not know the processor or its features. Without this check, LLVM would print a warning
/// to standard error and continue, or end the process.
Status CheckProcessor(const Processor& processor);

/// Returns whether code for the processor may use RISC-V vectors, according to its features or its name. If
/// LLVM does not know the processor, only the features count.
bool HasRiscvVectors(const Processor& processor);

/// LLVM for one processor and one optimization level (0 to 3). A Backend can compile any number of modules,
/// but only one thread may use it at a time.
class Backend {
 public:
  static Result<Backend> Create(const Processor& processor, int opt_level);
  Backend(Backend&&) noexcept;
  Backend& operator=(Backend&&) noexcept;
  ~Backend();

  const Processor& processor() const { return processor_; }
  const Machine& machine() const { return *machine_; }

 private:
  Backend(Processor processor, std::unique_ptr<Machine> machine);
  Processor processor_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kdl::codegen
