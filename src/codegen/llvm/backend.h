#pragma once

#include <memory>

#include "codegen/llvm/processor.h"
#include "support/result.h"

namespace kdl::codegen {

class Machine;

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
