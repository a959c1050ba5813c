#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the name of the generic that marks a size of a kernel as a pack of dimensions: a tensor of a call has any
/// number of dimensions there, whose product is the size. No integer parameter of the kernel has this name.
std::string PackMark(Name size);

/// Returns whether the size is a pack of dimensions.
bool IsPack(const Function& function, Size size);

/// Returns the name of the generic that marks a tensor parameter of a kernel as `strided`. Its value is 0 in the kernel
/// for tensors without gaps inside of packs. The pass expand-packs adds a kernel for other tensors, in which it is 1.
std::string StrideMark(Name param);

/// Returns the name of the generic that marks a tensor parameter as `broadcast`, in addition to its StrideMark.
std::string BroadcastMark(Name param);

/// Returns the name of the generic that marks a tensor parameter as a counted output. Its value is the position of the
/// parameter that says how many elements were appended.
std::string CountMark(Name param);

/// Returns the parameter that counts the elements of an output, or null if it is not a counted output.
const Param* FindCount(const Function& function, const Param& output);

/// Returns whether the function is a kernel that the pass expand-packs has added, for tensors with any strides.
bool IsForStrides(const Function& function);

/// Returns the name of the kernel to which the pass expand-packs has added this one.
Name OriginalName(const Function& added, Names& names);

/// Returns whether a parameter is `strided` or `broadcast`.
bool IsStrided(const Function& function, const Param& param);

/// Returns whether a generic of the function is one of these marks, instead of an integer parameter.
bool IsShapeMark(const Function& function, Name generic);

/// Returns whether a parameter is `broadcast`.
bool IsBroadcast(const Function& function, const Param& param);

/// Returns whether the function has `strided` or `broadcast` parameters.
bool HasStrided(const Function& function);

/// Removes the marks of `strided` and `broadcast` parameters, for a kernel that only the compiler launches.
void DropStrideMarks(Function& function);

/// Returns the packs among a parameter's dimensions, in their order.
std::vector<Name> PacksOf(const Function& function, const Param& param);

/// Returns the packs whose numbers of dimensions a launch states. Together with them, its tensors determine those of all others.
std::vector<Name> OpenPacks(const Function& function);

/// Returns the names of the dimensions that a pack becomes in the kernel that the pass expand-packs adds. No other size or
/// constant of the kernel begins like them: for a pack `A`, they are `A_1`, `A_2` …, with more underscores if need be.
std::vector<std::string> ExpandedNames(const Function& function, Name pack, size_t count);

/// A dimension of a kernel's tensor as in the source, such as `M` or `A..`.
struct SourceDim {
  std::string text;
  size_t first = 0;  ///< the first dimension of the tensor that belongs to it
};
/// Returns the dimensions of a kernel's tensor as in the source, without those that the pass expand-packs has added.
std::vector<SourceDim> SourceDims(const Function& function, const Param& param);

/// Returns the dimensions of a kernel's tensor as in the source, such as `[A.., M]`.
std::string ShapeText(const Function& function, const Param& param);

/// Returns a size in which the name of a pack replaces the product of the dimensions that it has become. The result belongs to
/// the tables.
Size WithPacks(const Function& function, Size size, SizeTable& sizes, Names& names);

/// Returns a dimension of a kernel's parameter as in the source, such as `M` or `A..`.
std::string DimText(const Function& function, Size size);

}  // namespace kdl::ir
