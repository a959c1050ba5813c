#pragma once

#include "ir/module.h"

namespace kdl::proofs {

// What the proofs take for granted of a launch's numbers, and who checks it:
//
//   a size is not negative                     the runtime and the interpreter, of each tensor's dimensions; a `require` for a
//                                              size that only `where` defines (irgen)
//   sizes and the number of cores are at most  the runtime and the interpreter, when they bind the sizes
//   KDL_LARGEST_SIZE
//   there is a core at least                   the runtime and the interpreter
//   sizes in the types of parameters, and in   the kernel's launch check, which computes them without wrapping, as the
//   each `require`, are numbers of 64 bits     interpreter does
//   a tensor has less than 2^63 bytes          the runtime, of arguments; the size of the workspace, of tensors of the launch
//   sums and products of these that the cores  limit-sizes: a `require` for each product, an assert for those of the number
//   compute are numbers of 64 bits             of cores; what these do not bound may wrap (wraps.h)
//   the indices of a loop that deals blocks    limit-sizes: an assert before each loop whose bounds no size bounds
//   can be counted
//   integer parameters are their choices, and  instantiate
//   positive where the compiler chooses them

/// Whether a `require` only keeps something below a number so large that no proof but that of wrapping needs it, as those of
/// limit-sizes do. To leave it out of other proofs costs nothing and saves them time.
bool IsVast(const ir::Op* require);

}  // namespace kdl::proofs
