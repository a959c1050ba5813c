#pragma once

#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Whether the parameter is an integer, as `BM: int`, and not a type, as `T: f16 | f32`.
bool IsIntGeneric(const syntax::GenericParam& generic);

/// One choice of a type for each type parameter. KindCombinations returns them in the order of the
/// parameters and their types: a single empty one if there are no type parameters. Wrong types are
/// reported.
struct KindCombination {
  std::vector<Scalar> kinds;
  bool left_out = false;  ///< excluded by -D, which names other types
};
std::vector<KindCombination> KindCombinations(ModuleState& module, const FunctionGroup& group);

/// Declares the generic parameters of an instance with these types.
void DeclareGenerics(FunctionState& state, const std::vector<Scalar>& kinds);

/// Reports values given with -D for parameters that no function has.
void CheckDefines(ModuleState& module, const std::vector<const syntax::Item*>& items);

/// Returns the types allowed for a function's type parameter, as `f16, bf16 and f32`.
std::string KindList(const syntax::FunctionItem& item, Name generic);

}  // namespace kdl::sema
