#include "codegen/common/source_variables.h"

namespace kdl::codegen {

const SourceFunction* SourceVariables::FindFunction(Name name, const ir::Loc& loc) const {
  const SourceFunction* found = nullptr;
  const SourcePlace place{loc.line, loc.column};
  for (const SourceFunction& function : functions) {
    bool contains =
        function.loc.file == loc.file && function.begin <= place && place < function.end;
    if (contains && (!found || function.name == name)) found = &function;
  }
  return found;
}

}  // namespace kdl::codegen
