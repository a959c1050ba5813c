#pragma once

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugLoc.h>

#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "codegen/common/source_variables.h"
#include "ir/op.h"

namespace kdl::codegen {

/// Passes may make several versions of a statement, in the branches of an `if`. The variables that the statement declares
/// have a copy in each version. Returns the branch around `region` in which the variable is, or null if there is only one
/// version. Debuggers stop at a line in each version only if each has variables of its own.
const ir::Region* VersionOf(const SourceVariable& variable, const ir::Region* region);

/// Maps a module's instructions to lines of the source. For debuggers, also to functions, also inlined ones, and to the
/// scopes of variables.
class SourceLines {
 public:
  /// `Directives` only add line directives to assembly. A `Table` also appears in object files. `Full` has functions
  /// and scopes.
  enum class Form : uint8_t { Table, Directives, Full };
  explicit SourceLines(llvm::Module& module, Form form = Form::Table);
  /// `folder` is the directory to which the paths of source files are relative.
  SourceLines(llvm::Module& module, const SourceVariables& variables, const std::string& folder,
              bool optimized);
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  /// Begins a function whose source is at `loc`.
  void Enter(llvm::Function& function, const ir::Loc& loc);
  /// Begins a function of a kernel, which debuggers show as `name`. Emits only what `Enter` does if the form is not
  /// `Full`.
  void EnterKernel(llvm::Function& function, const ir::Function& kernel, const std::string& name);
  /// The function that is being emitted.
  struct Current {
    llvm::DISubprogram* function = nullptr;
    Name kernel;  ///< the name in KIR of the kernel to which it belongs
    std::map<std::pair<const ir::CallSite*, const llvm::DILocalScope*>, llvm::DILocation*> calls;
  };
  /// Returns the function that is being emitted, so that `Resume` continues it after others have been emitted.
  Current Suspend() { return std::exchange(current_, {}); }
  void Resume(Current current) { current_ = std::move(current); }
  /// Returns the debug location of an op in the region, or null if `loc` is not a line of the source.
  llvm::DebugLoc DebugLocFor(const ir::Loc& loc, const ir::Region* region);
  /// Returns a location in the current function that has no line.
  llvm::DebugLoc UnknownLine() const;
  /// Must be called after all functions are complete.
  void Finish() { builder_.finalize(); }

  // These functions are only for the form `Full`.
  /// Returns the source of the code at `loc`, or null if it is unknown.
  const SourceFunction* FunctionAt(const ir::Loc& loc) const;
  /// Returns the scope of the variable in the function that is being emitted, or in the inlined fn of `loc`.
  llvm::DILocalScope* ScopeOf(const SourceVariable& variable, const ir::Loc& loc,
                              const ir::Region* region);
  /// Returns the location of the variable's declaration, for records of its values.
  llvm::DILocation* DeclarationOf(const SourceVariable& variable, const ir::Loc& loc,
                                  const ir::Region* region);
  llvm::DIBuilder& builder() { return builder_; }
  llvm::DIFile* FileOf(const ir::Loc& loc);

 private:
  llvm::DISubprogram* SubprogramOf(const ir::Loc& loc);
  llvm::DILocalScope* ScopeAt(const SourceFunction& function, llvm::DISubprogram* subprogram,
                              SourcePlace place, const ir::Region* region);
  llvm::DILocation* CallOf(const ir::Loc& loc, const ir::Region* region);

  llvm::DIBuilder builder_;
  llvm::DICompileUnit* compilation_ = nullptr;
  Form form_;
  std::string folder_;
  const SourceVariables* variables_ = nullptr;
  Current current_;
  std::map<Name, llvm::DISubprogram*> inlined_;
  std::map<std::tuple<const llvm::DISubprogram*, const SourceVariable*, const ir::Region*>,
           llvm::DILocalScope*>
      scopes_;
};

}  // namespace kdl::codegen
