#pragma once

#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// `BM: int`, not `T: f16 | f32`.
bool IsIntGeneric(const syntax::GenericParam& generic);

/// One choice of a kind for each type parameter, in the order of the parameters and of their kinds,
/// restricted by -D; one empty choice where there are none. Reports wrong kinds.
struct KindCombination {
  std::vector<Scalar> kinds;
  bool left_out = false;  ///< -D names other kinds
};
std::vector<KindCombination> KindCombinations(ModuleState& module, const FunctionGroup& group);

/// Declares the generic parameters of an instance with these kinds.
void DeclareGenerics(FunctionState& state, const std::vector<Scalar>& kinds);

/// Reports values given with -D that no function has a parameter for.
void CheckDefines(ModuleState& module, const std::vector<const syntax::Item*>& items);

/// The kinds that a function's type parameter has, as `f16, bf16 and f32`.
std::string KindList(const syntax::FunctionItem& item, Name generic);

}  // namespace kdl::sema
