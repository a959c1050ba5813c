#pragma once

#include <memory>

#include "ir/target_facts.h"
#include "support/result.h"

namespace kdl::codegen {

class Machine;

/// LLVM, set up for one processor and one optimization level (0 to 3). Made once, used for any
/// number of modules, by one thread at a time.
class Backend {
 public:
  static Result<Backend> Create(const ir::TargetFacts& facts, int opt_level);
  Backend(Backend&&) noexcept;
  Backend& operator=(Backend&&) noexcept;
  ~Backend();

  const ir::TargetFacts& facts() const { return facts_; }
  const Machine& machine() const { return *machine_; }

 private:
  Backend(ir::TargetFacts facts, std::unique_ptr<Machine> machine);
  ir::TargetFacts facts_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace kdl::codegen
