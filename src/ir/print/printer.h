#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

// The text form: one op a line, as ops.def lists its operands and attributes.
//
//   kernel @scale.f32 types(T = f32) generics(B = 64) dims(%N) {export} (%x: tensor<f32,[N]> in, …)
//   {
//     axis i = N by 64
//     %0 = const 0 : i64
//     spmd (%i: block<i> in %0 .. %N) {distribute = static} {
//       %t = load %x[%i] {bounds = clip} : tile<f32; i>
//       …
//       yield
//     }
//   }
//
// Values and axes keep their source names; a name that stands already gets `.1`, `.2` …, a value
// without a name a number. A name that is no identifier stands in quotes: %"0". What is printed
// reads back (parser.h) to a module that is equal (equal.h) and prints the same.

struct PrintOptions {
  /// Ends the first line of every op and function that comes from somewhere with
  /// loc("saxpy.kdl":3:5+7): file, line, column, length.
  bool locs = false;
};

std::string Print(const Module& module, PrintOptions options = {});
std::string Print(const Function& function, PrintOptions options = {});

/// One op's first line, as it stands in the text of its function. For messages: any op prints,
/// valid or not.
std::string PrintLine(const Op& op);

std::string ToString(const Type& type, const Function& function);

}  // namespace kdl::ir
