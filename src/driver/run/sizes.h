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

/// The value of a size and its source: `dimension 0 of x (@x.npy)` or `--set`.
struct KnownSize {
  int64_t value = 0;
  std::string source;
};
using SizeValues = std::map<Name, KnownSize>;

/// Returns the sizes of `function` that follow from the files' shapes, --set and then equations in
/// `where`. They include the open `int` generics of its parameter types. Reports contradictions,
/// and files whose rank or shape does not fit. Unknown sizes are left out. Returns nothing after an
/// error.
std::optional<SizeValues> BindSizes(const ir::Function& function,
                                    const std::vector<ArgumentSpec>& arguments,
                                    const Options& options, DiagnosticEngine& diagnostics);

/// Whether the sizes satisfy every `where` of the function.
bool FulfilsWhere(const ir::Function& function, const SizeValues& values);

/// Returns the value of a size if all names in it are known.
std::optional<int64_t> SizeValue(Size size, const SizeValues& values);

}  // namespace kdl::driver
