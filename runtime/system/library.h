// Shared libraries that are loaded while the process runs.
#pragma once

#include <memory>
#include <string>

namespace kdl::runtime {

// Unloads with its last copy. Null: it cannot be loaded, and WhyNotLoaded, asked at once, says why.
using Library = std::shared_ptr<void>;
// A name without a slash is looked for among the system's libraries. The library that this code lies in stays loaded from
// then on: unloading the other one while the process ends would unload it, too, where it was closed but had to stay.
Library LoadLibrary(const char* name);
// A driver stays loaded until the process ends: its threads and what it does at the end of the process outlive our use of it.
Library LoadDriver(const char* name);
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
