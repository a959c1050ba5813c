// Shared libraries that are loaded while the process runs.
#pragma once

#include <memory>
#include <string>

namespace kdl::runtime {

// Unloads with its last copy. Null: it cannot be loaded, and WhyNotLoaded, asked at once, says why.
using Library = std::shared_ptr<void>;
// A name without a slash is looked for among the system's libraries.
Library LoadLibrary(const char* name);
// The system's words, without the name, which the caller says.
std::string WhyNotLoaded(const std::string& name);

// Null: it has no such symbol.
void* SymbolOf(const Library& library, const char* name);
template <class Function>
Function FunctionOf(const Library& library, const char* name) {
  return reinterpret_cast<Function>(SymbolOf(library, name));
}

// The architecture that the code in a file is for, as ProcessorArch names it; null: that is not to be seen.
const char* ArchOfLibrary(const std::string& path);

}  // namespace kdl::runtime
