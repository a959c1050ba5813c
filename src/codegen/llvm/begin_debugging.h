#pragma once

#include <memory>
#include <string>

#include "codegen/llvm/emitter.h"

namespace kdl::codegen {

/// Begins the function that is being emitted, which debuggers show as `name`. Ops and variables that are emitted from now
/// on get debug information, if it is wanted.
void BeginDebugging(Emitter& emitter, const std::string& name);

/// Ends the code that only sets the function up. It belongs to no line, so that breakpoints at the function are after
/// it.
void BeginStatements(Emitter& emitter);

/// Sets the debug information of a function aside, while another function of the kernel is emitted.
class DebuggingScope {
 public:
  explicit DebuggingScope(const Emitter& emitter);
  ~DebuggingScope();
  DebuggingScope(const DebuggingScope&) = delete;
  DebuggingScope& operator=(const DebuggingScope&) = delete;

 private:
  struct Outer;
  std::unique_ptr<Outer> outer_;
};

}  // namespace kdl::codegen
