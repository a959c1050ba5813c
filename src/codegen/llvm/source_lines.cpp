#include "codegen/llvm/source_lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

namespace kdl::codegen {

SourceLines::SourceLines(llvm::Module& module, Form form) : builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, builder_.createFile(module.getName(), ""),
                             "kernelc", /*isOptimized=*/true, "", 0, "",
                             form == Form::Table ? llvm::DICompileUnit::LineTablesOnly
                                                 : llvm::DICompileUnit::DebugDirectivesOnly);
}

llvm::DIFile* SourceLines::FileOf(const ir::Loc& loc) {
  return builder_.createFile(loc.file.text(), "");
}

void SourceLines::Enter(llvm::Function& function, const ir::Loc& loc) {
  llvm::DIFile* file = FileOf(loc);
  auto* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  function_ = builder_.createFunction(file, function.getName(), function.getName(), file, loc.line,
                                      type, loc.line, llvm::DINode::FlagZero,
                                      llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(function_);
}

llvm::DebugLoc SourceLines::DebugLocFor(const ir::Loc& loc) {
  if (loc.line == 0 || loc.file.text().empty()) return {};
  llvm::DIScope* scope = function_;
  if (FileOf(loc) != function_->getFile())
    scope = builder_.createLexicalBlockFile(function_, FileOf(loc));
  return llvm::DILocation::get(function_->getContext(), loc.line, loc.column, scope);
}

}  // namespace kdl::codegen
