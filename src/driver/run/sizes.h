#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driver/options.h"
#include "driver/run/argument_specs.h"
#include "ir/module.h"
#include "support/diagnostics.h"
#include "support/names.h"

namespace kdl::driver {

/// A size's value and where it comes from: `dimension 0 of x (@x.npy)`, `--set`.
struct KnownSize {
  int64_t value = 0;
  std::string source;
};
using SizeValues = std::map<Name, KnownSize>;

/// The sizes that the files' shapes, --set and then equations of `where` give to `function`; constants of the parameter types (`int` generics that
/// are still open) among them. Files whose rank or shape does not fit and contradictions are reported; what nothing
/// gives is left out. Nothing after an error.
std::optional<SizeValues> BindSizes(const ir::Function& function,
                                    const std::vector<ArgumentSpec>& arguments,
                                    const Options& options, DiagnosticEngine& diagnostics);

/// Whether every `where` of the function holds for the sizes.
bool FulfilsWhere(const ir::Function& function, const SizeValues& values);

/// The value of a size, if all its names are known.
std::optional<int64_t> ValueOf(Size size, const SizeValues& values);

}  // namespace kdl::driver
