#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "ir/module.h"

namespace kdl::codegen {

/// A library of kernels as C11, which needs no runtime.
struct CSource {
  std::string header;  ///< NAME.source.h
  std::string source;  ///< NAME.source.c
};

/// The first thing in a kernel that C source cannot contain yet.
struct NotInC {
  ir::Loc loc;
  std::string kernel;
  std::string what;
};

struct CSourceResult {
  CSource source;
  std::optional<NotInC> failure;
};

/// Writes the exported kernels of a module as C functions. `module` is the module after the module pipeline, which
/// determines the functions' names and parameters. `lowered` is the same module after the passes for a CPU.
/// `spec` is the target for which it was lowered, and `register_bits` the size of its vector registers.
CSourceResult WriteCSource(const ir::Module& module, const std::string& runtime_name,
                           const ir::Module& lowered, std::string_view spec, int register_bits);

}  // namespace kdl::codegen
