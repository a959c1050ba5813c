#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Returns the pack of the kernel's parameters whose rank a launch states with this name, such as `A..` for `rank_A`, or null.
const syntax::NameExpr* RankedPack(const syntax::FunctionItem& kernel, Name name);

/// Finds the dimensions of a launch's tensors that belong to packs of the kernel's parameters, such as `A..` of
/// `x: in f32[A.., C]`, and stores the sizes after merging them in the launch. All tensors must have the same
/// dimensions for a pack; if it is not known whether they have, adds checks at launch. Where the tensors do not determine how
/// many dimensions a pack has, the launch states it: `f<rank_A = 1>(x);`. Reports tensors whose packs cannot be found, and
/// returns false then.
bool MergePacks(FunctionState& state, const syntax::CallExpr& call, LaunchInfo& launch);

/// Returns the sizes of an argument, after dimensions have been merged.
const std::vector<Size>& SizesOfArgument(const FunctionState& state, const LaunchInfo& launch,
                                         const syntax::Expr* arg, size_t param);

}  // namespace kdl::sema
