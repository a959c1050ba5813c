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

/// The value of a size and where it comes from, such as `dimension 0 of x (@x.npy)` or `--set`.
struct KnownSize {
  int64_t value = 0;
  std::string source;
};
using SizeValues = std::map<Name, KnownSize>;

/// Returns the sizes of `function` that follow from the shapes of the files, from --set, and from
/// equations in `where`, in this order. The result includes `int` generics in the parameter types
/// that have no value yet, and omits unknown sizes. Reports contradictions, and files whose rank or
/// shape does not match. Returns nothing after an error.
std::optional<SizeValues> BindSizes(const ir::Function& function,
                                    const std::vector<ArgumentSpec>& arguments,
                                    const Options& options, DiagnosticEngine& diagnostics);

/// Whether the sizes satisfy every `where` clause of the function.
bool FulfilsWhere(const ir::Function& function, const SizeValues& values);

/// Returns the value of a size if all names in it are known.
std::optional<int64_t> SizeValue(Size size, const SizeValues& values);

}  // namespace kdl::driver
