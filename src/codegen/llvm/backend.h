#pragma once

#include <memory>

#include "codegen/llvm/processor.h"
#include "support/result.h"

namespace kdl::codegen {

class Machine;

/// What LLVM does not know of the processor; it would write so to standard error, and go on or end the process.
Status CheckProcessor(const Processor& processor);

/// Whether code for the processor has RISC-V's vectors, by its features or by its name. Where LLVM does not know it, by what the
/// features say.
bool HasRiscvVectors(const Processor& processor);

/// LLVM, set up for one processor and one optimization level (0 to 3). Made once, used for any
/// number of modules, by one thread at a time.
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
