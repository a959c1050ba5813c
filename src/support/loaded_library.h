#pragma once

#include <string>

#include "support/result.h"

namespace kdl {

/// A shared object that this process has loaded. It stays loaded until the process exits, and libraries that are loaded later
/// can use its symbols.
class LoadedLibrary {
 public:
  static Result<LoadedLibrary> Load(const std::string& path);

  /// Sets `function` to the function with this name, or to null if there is none.
  template <class Function>
  void Find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(AddressOf(name));
  }

 private:
  explicit LoadedLibrary(void* handle) : handle_(handle) {}
  void* AddressOf(const char* name) const;
  void* handle_;
};

}  // namespace kdl
