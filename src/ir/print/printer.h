#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

// The text form: one op on each line, with its operands and attributes as ops.def lists them.
//
//   kernel @scale.f32 types(T = f32) generics(B = 64) dims(%N) {export} (%x: tensor<f32,[N]> in, …)
//   {
//     axis i = N by 64
//     spmd (%i: block<i> in 0 .. %N) {
//       %x.1 = load %x[%i] {bounds = clip} : tile<f32; i>
//       %mul = mul %x.1, 2.0_f32 : tile<f32; i>
//       …
//     }
//   }
//
// Values and axes keep their source names. If a name is already in use, a suffix `.1`, `.2` … is added. A
// value without a name is named after the tensor from which it is loaded, after the block whose property it
// is, or after its op (value_names.h). A name that is not an identifier is quoted: %"0". Constants without a
// name are written where they are used. A flag has no value. Attributes with their default value (format.h),
// the step 1 and a `yield` without values are omitted. Parsing the text (parser.h) creates a module that is
// equal to the original (equal.h) and has the same text form.

struct PrintOptions {
  /// Adds a location such as loc("saxpy.kdl":3:5+7), which contains file, line, column and length, to the
  /// first line of every op and function that has a source location.
  bool locs = false;
  /// Writes a number that is used once as an expression where it is used, as in `%x[(%i + 8)]`, and omits unused numbers.
  /// This text is shorter, but only for readers: it cannot be parsed. With `locs`, each op has a line.
  bool expressions = false;
};

std::string Print(const Module& module, PrintOptions options = {});
std::string Print(const Function& function, PrintOptions options = {});

/// Returns the first line of one op, as printed in its function. Messages use this function, so the op may be
/// invalid.
std::string PrintLine(const Op& op);

std::string ToString(const Type& type, const Function& function);

}  // namespace kdl::ir
