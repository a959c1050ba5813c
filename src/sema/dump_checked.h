#pragma once

#include <string>

#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::sema {

/// The functions with their entities and the types of their expressions, one a line, in the order of
/// the text; for tests.
std::string DumpChecked(const CheckedModule& module, const SourceManager& sources);

}  // namespace kdl::sema
