#pragma once

#include <string>

#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::sema {

/// Lists the functions with their entities and the types of their expressions, one per line and in source
/// order. The tests compare this text.
std::string DumpChecked(const CheckedModule& module, const SourceManager& sources);

}  // namespace kdl::sema
