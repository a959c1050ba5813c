#include "codegen/llvm/begin_debugging.h"

#include <utility>

#include "codegen/llvm/debug_variables.h"
#include "codegen/llvm/source_lines.h"

namespace kdl::codegen {

void BeginDebugging(Emitter& emitter, const std::string& name) {
  Debugging& debugging = emitter.debugging;
  SourceLines* lines = debugging.lines;
  if (lines) lines->EnterKernel(*emitter.function, emitter.kernel, name);
  debugging.watch = nullptr;
  bool is_needed = debugging.variables && (debugging.keeps_variables || lines);
  if (is_needed)
    debugging.watch = std::make_shared<DebugVariables>(emitter, *debugging.variables,
                                                       debugging.keeps_variables, lines);
}

void BeginStatements(Emitter& emitter) {
  SourceLines* lines = emitter.debugging.lines;
  if (!lines) return;
  // KIR without locations has no line for the kernel, but LLVM wants a location for each call.
  llvm::DebugLoc at = lines->DebugLocFor(emitter.kernel.loc, emitter.kernel.body);
  emitter.builder.SetCurrentDebugLocation(at ? at : lines->UnknownLine());
}

struct DebuggingScope::Outer {
  SourceLines& lines;
  SourceLines::Current function;
};

DebuggingScope::DebuggingScope(const Emitter& emitter) {
  SourceLines* lines = emitter.debugging.lines;
  if (lines) outer_ = std::make_unique<Outer>(*lines, lines->Suspend());
}

DebuggingScope::~DebuggingScope() {
  if (outer_) outer_->lines.Resume(std::move(outer_->function));
}

}  // namespace kdl::codegen
