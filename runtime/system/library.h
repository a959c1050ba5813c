// Shared libraries loaded at run time.
#pragma once

#include <memory>
#include <string>

namespace kdl::runtime {

// Unloaded with its last copy. Null if loading failed; WhyNotLoaded, called directly after that, gives the
// reason.
using Library = std::shared_ptr<void>;
// A name without a slash is searched among the system's libraries. The first call keeps the library that
// contains this code loaded for good. Otherwise, unloading another library at process exit could unload this
// one while its code runs.
Library LoadLibrary(const char* name);
// Loads a driver and keeps it loaded until the process exits, because its threads and exit handlers outlive
// our use of it.
Library LoadDriver(const char* name);
// Returns the system's message without the name, which the caller adds.
std::string WhyNotLoaded(const std::string& name);

// Returns null if the library has no such symbol.
void* SymbolOf(const Library& library, const char* name);
template <class Function>
Function FunctionOf(const Library& library, const char* name) {
  return reinterpret_cast<Function>(SymbolOf(library, name));
}

// Returns the architecture of the code in a file, as ProcessorArch names it, or null if unknown.
const char* ArchOfLibrary(const std::string& path);

}  // namespace kdl::runtime
