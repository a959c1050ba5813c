// Shared libraries loaded at run time.
#pragma once

#include <memory>
#include <string>

namespace kdl::runtime {

// A loaded library, or null if loading failed. The library is unloaded when its last copy is destroyed. Call
// WhyNotLoaded directly after a failure to get the reason.
using Library = std::shared_ptr<void>;
// Loads a library. A name without a slash is searched for among the system's libraries. The first call also
// keeps the library that contains this code loaded permanently. Otherwise, unloading another library at
// process exit could unload this library while its code runs.
Library LoadLibrary(const char* name);
// Loads a driver and keeps it loaded until the process exits, because its threads and exit handlers outlive
// the runtime's use of it.
Library LoadDriver(const char* name);
// Returns the system's message for the failure, without the library's name, which the caller adds.
std::string WhyNotLoaded(const std::string& name);

// Returns the address of a symbol, or null if the library has no such symbol.
void* SymbolOf(const Library& library, const char* name);
template <class Function>
Function FunctionOf(const Library& library, const char* name) {
  return reinterpret_cast<Function>(SymbolOf(library, name));
}

// Returns the address of a symbol of any library that is loaded for the whole process, or null.
void* SymbolOfProcess(const char* name);

// Returns the architecture of the code in a file, in the spelling of ProcessorArch. Returns null if it is
// unknown.
const char* ArchOfLibrary(const std::string& path);

}  // namespace kdl::runtime
