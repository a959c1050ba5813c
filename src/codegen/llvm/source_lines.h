#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugLoc.h>

#include "ir/op.h"

namespace kdl::codegen {

/// Says of a module's instructions which lines of the source they come from: DWARF's table of lines, and nothing else.
class SourceLines {
 public:
  /// `Directives` stand in assembly alone; a table in an object, too.
  enum class Form : uint8_t { Table, Directives };
  explicit SourceLines(llvm::Module& module, Form form = Form::Table);
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  /// What follows is `function`'s, which comes from `loc`.
  void Enter(llvm::Function& function, const ir::Loc& loc);
  /// Null where the source does not say.
  llvm::DebugLoc Of(const ir::Loc& loc);
  /// When all functions are there.
  void Finish() { builder_.finalize(); }

 private:
  llvm::DIFile* FileOf(const ir::Loc& loc);

  llvm::DIBuilder builder_;
  llvm::DISubprogram* function_ = nullptr;
};

}  // namespace kdl::codegen
