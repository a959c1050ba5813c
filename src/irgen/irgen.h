#pragma once

#include <memory>
#include <vector>

#include "ir/contract.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::irgen {

/// Generates the KIR of a checked module without errors: every called fn, every kernel instance and every
/// program, in source order. The sizes in `checked` must come from `context.types.sizes()`. Integer
/// parameters remain symbols. Tests are generated only if `contracts` is given, because their ops refer to
/// contracts by number.
std::unique_ptr<ir::Module> Generate(const sema::CheckedModule& checked,
                                     const SourceManager& sources, ir::Context& context,
                                     Name module_name, ir::Contracts* contracts = nullptr);

}  // namespace kdl::irgen
