#pragma once

#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns whether the parameter is an integer, as in `BM: int`.
bool IsIntGeneric(const syntax::GenericParam& generic);
/// Returns whether the parameter is a type, as in `T: f16 | f32`.
bool IsTypeGeneric(const syntax::GenericParam& generic);

/// A choice of one type for each type parameter, of one fn for each function parameter, and of the optional parameters
/// that are present. KindCombinations returns the combinations for which instances
/// are made at once, in the order of the parameters and their types. If there are no type parameters, it returns
/// a single empty combination. Wrong types are reported. The types that each parameter allows are stored in the
/// group, and the group becomes lazy if instances for other combinations are made where they are used.
struct KindCombination {
  std::vector<Scalar> kinds;
  std::vector<const Entity*> functions;  ///< one for each function parameter
  std::vector<OptionalInfo> optionals;   ///< one for each optional parameter
  bool left_out = false;                 ///< excluded by -D, which names other types
  bool is_only_value = false;            ///< there is only one combination of fns
};
std::vector<KindCombination> KindCombinations(ModuleState& module, FunctionGroup& group);

/// Declares the generic parameters of an instance.
void DeclareGenerics(FunctionState& state, const KindCombination& combination);

/// Reports values that -D gives for parameters that no function has.
void CheckDefines(ModuleState& module, const std::vector<const syntax::Item*>& items);

/// Returns the types that a type parameter of the function allows, or none if there is no such parameter.
const std::vector<Scalar>& KindsOf(const FunctionGroup& group, Name generic);

}  // namespace kdl::sema
