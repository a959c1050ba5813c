#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugLoc.h>

#include "ir/op.h"

namespace kdl::codegen {

/// Maps a module's instructions to lines of the source. Emits a DWARF line table but no other debug
/// information.
class SourceLines {
 public:
  /// `Directives` only add line directives to assembly. A `Table` also appears in object files.
  enum class Form : uint8_t { Table, Directives };
  explicit SourceLines(llvm::Module& module, Form form = Form::Table);
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  /// Begins a function whose source is at `loc`.
  void Enter(llvm::Function& function, const ir::Loc& loc);
  /// Returns the debug location, or null if `loc` is not a line of the source.
  llvm::DebugLoc DebugLocFor(const ir::Loc& loc);
  /// Must be called after all functions are complete.
  void Finish() { builder_.finalize(); }

 private:
  llvm::DIFile* FileOf(const ir::Loc& loc);

  llvm::DIBuilder builder_;
  llvm::DISubprogram* function_ = nullptr;
};

}  // namespace kdl::codegen
