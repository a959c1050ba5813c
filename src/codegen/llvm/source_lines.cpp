#include "codegen/llvm/source_lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

#include "ir/module.h"
#include "ir/op_kind.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

llvm::DICompileUnit::DebugEmissionKind EmissionOf(SourceLines::Form form) {
  switch (form) {
    case SourceLines::Form::Table:
      return llvm::DICompileUnit::LineTablesOnly;
    case SourceLines::Form::Directives:
      return llvm::DICompileUnit::DebugDirectivesOnly;
    case SourceLines::Form::Full:
      return llvm::DICompileUnit::FullDebug;
  }
  KDL_UNREACHABLE();
}

}  // namespace

const ir::Region* VersionOf(const SourceVariable& variable, const ir::Region* region) {
  for (; region && region->parent(); region = region->parent()->parent_region()) {
    const ir::Loc& loc = region->parent()->loc();
    bool is_version = region->parent()->kind() == ir::OpKind::If && !loc.call && loc.line != 0 &&
                      SourcePlace{loc.line, loc.column} <= variable.declared;
    if (is_version) return region;
  }
  return nullptr;
}

SourceLines::SourceLines(llvm::Module& module, Form form) : builder_(module), form_(form) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  compilation_ = builder_.createCompileUnit(llvm::dwarf::DW_LANG_C,
                                            builder_.createFile(module.getName(), ""), "kernelc",
                                            /*isOptimized=*/true, "", 0, "", EmissionOf(form));
}

SourceLines::SourceLines(llvm::Module& module, const SourceVariables& variables,
                         const std::string& folder, bool optimized)
    : builder_(module), form_(Form::Full), folder_(folder), variables_(&variables) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  module.addModuleFlag(llvm::Module::Max, "Dwarf Version", 5);
  llvm::StringRef path = module.getName();
  if (!variables.functions.empty()) path = variables.functions.front().loc.file.text();
  compilation_ =
      builder_.createCompileUnit(llvm::dwarf::DW_LANG_C11, builder_.createFile(path, folder),
                                 "kernelc", optimized, "", 0, "", EmissionOf(form_));
}

llvm::DIFile* SourceLines::FileOf(const ir::Loc& loc) {
  return builder_.createFile(loc.file.text(), folder_);
}

void SourceLines::Enter(llvm::Function& function, const ir::Loc& loc) {
  llvm::DIFile* file = FileOf(loc);
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  current_.function = builder_.createFunction(file, function.getName(), function.getName(), file,
                                              loc.line, type, loc.line, llvm::DINode::FlagZero,
                                              llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(current_.function);
}

void SourceLines::EnterKernel(llvm::Function& function, const ir::Function& kernel,
                              const std::string& name) {
  llvm::DIFile* file = FileOf(kernel.loc);
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  auto flags = llvm::DISubprogram::SPFlagDefinition;
  if (compilation_->isOptimized()) flags |= llvm::DISubprogram::SPFlagOptimized;
  current_.function = builder_.createFunction(compilation_, name, "", file, kernel.loc.line, type,
                                              kernel.loc.line, llvm::DINode::FlagPrototyped, flags);
  function.setSubprogram(current_.function);
  current_.kernel = kernel.name;
  current_.calls.clear();
}

const SourceFunction* SourceLines::FunctionAt(const ir::Loc& loc) const {
  return variables_->FindFunction(loc.call ? loc.call->function : current_.kernel, loc);
}

/// Returns the function that contains the code at `loc`: the one that is being emitted, or an inlined one.
llvm::DISubprogram* SourceLines::SubprogramOf(const ir::Loc& loc) {
  if (!loc.call) return current_.function;
  llvm::DISubprogram*& inlined = inlined_[loc.call->function];
  if (inlined) return inlined;
  const SourceFunction* source = FunctionAt(loc);
  llvm::DIFile* file = FileOf(loc);
  unsigned line = source ? source->loc.line : loc.line;
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  auto flags = llvm::DISubprogram::SPFlagDefinition;
  if (compilation_->isOptimized()) flags |= llvm::DISubprogram::SPFlagOptimized;
  inlined = builder_.createFunction(compilation_, loc.call->function.text(), "", file, line, type,
                                    line, llvm::DINode::FlagPrototyped, flags);
  return inlined;
}

/// Returns the location of the call through which the code at `loc` was inlined, or null.
llvm::DILocation* SourceLines::CallOf(const ir::Loc& loc, const ir::Region* region) {
  if (!loc.call) return nullptr;
  llvm::DebugLoc at = DebugLocFor(loc.call->at, region);
  const auto* scope = at ? llvm::cast<llvm::DILocalScope>(at->getScope()) : current_.function;
  llvm::DILocation*& known = current_.calls[{loc.call, scope}];
  if (known) return known;
  llvm::LLVMContext& context = current_.function->getContext();
  if (!at)
    return known = llvm::DILocation::getDistinct(context, current_.function->getLine(), 0,
                                                 current_.function);
  return known = llvm::DILocation::getDistinct(context, at->getLine(), at->getColumn(),
                                               at->getScope(), at->getInlinedAt());
}

/// Returns the innermost scope that contains the place. Each variable that is not a parameter begins a scope.
llvm::DILocalScope* SourceLines::ScopeAt(const SourceFunction& function,
                                         llvm::DISubprogram* subprogram, SourcePlace place,
                                         const ir::Region* region) {
  llvm::DILocalScope* scope = subprogram;
  for (const SourceVariable& variable : function.variables) {
    if (variable.parameter > 0 || variable.tuple || !variable.IsIn(place)) continue;
    llvm::DILocalScope*& own = scopes_[{subprogram, &variable, VersionOf(variable, region)}];
    if (!own) {
      own = builder_.createLexicalBlock(scope, FileOf(function.loc), variable.declared.line,
                                        variable.declared.column);
    }
    scope = own;
  }
  return scope;
}

llvm::DILocalScope* SourceLines::ScopeOf(const SourceVariable& variable, const ir::Loc& loc,
                                         const ir::Region* region) {
  llvm::DISubprogram* subprogram = SubprogramOf(loc);
  const SourceFunction* function = FunctionAt(loc);
  if (variable.parameter > 0 || !function) return subprogram;
  ScopeAt(*function, subprogram, variable.begin, region);
  return scopes_.at({subprogram, &variable, VersionOf(variable, region)});
}

llvm::DILocation* SourceLines::DeclarationOf(const SourceVariable& variable, const ir::Loc& loc,
                                             const ir::Region* region) {
  return llvm::DILocation::get(current_.function->getContext(), variable.declared.line,
                               variable.declared.column, ScopeOf(variable, loc, region),
                               CallOf(loc, region));
}

llvm::DebugLoc SourceLines::UnknownLine() const {
  return llvm::DILocation::get(current_.function->getContext(), 0, 0, current_.function);
}

llvm::DebugLoc SourceLines::DebugLocFor(const ir::Loc& loc, const ir::Region* region) {
  if (loc.line == 0 || loc.file.text().empty()) return {};
  if (form_ != Form::Full) {
    llvm::DIScope* scope = current_.function;
    if (FileOf(loc) != current_.function->getFile())
      scope = builder_.createLexicalBlockFile(current_.function, FileOf(loc));
    return llvm::DILocation::get(current_.function->getContext(), loc.line, loc.column, scope);
  }
  llvm::DISubprogram* subprogram = SubprogramOf(loc);
  llvm::DILocalScope* scope = subprogram;
  if (const SourceFunction* function = FunctionAt(loc))
    scope = ScopeAt(*function, subprogram, {loc.line, loc.column}, region);
  if (FileOf(loc) != scope->getFile()) scope = builder_.createLexicalBlockFile(scope, FileOf(loc));
  return llvm::DILocation::get(current_.function->getContext(), loc.line, loc.column, scope,
                               CallOf(loc, region));
}

}  // namespace kdl::codegen
