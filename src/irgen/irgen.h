#pragma once

#include <memory>
#include <vector>

#include "ir/contract.h"
#include "ir/module.h"
#include "sema/model/checked.h"
#include "support/source.h"

namespace kdl::irgen {

/// KIR of a checked module without errors: every fn that is called, every kernel instance, every program, in source
/// order. Sizes of `checked` must come from `context.types.sizes()`. Int generics stay symbols. Tests are left out unless
/// there is a place for what they expect: their ops name contracts by number.
std::unique_ptr<ir::Module> Generate(const sema::CheckedModule& checked,
                                     const SourceManager& sources, ir::Context& context,
                                     Name module_name, ir::Contracts* contracts = nullptr);

}  // namespace kdl::irgen
