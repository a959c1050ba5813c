#pragma once

#include "ir/module.h"

namespace kdl::proofs {

// What the proofs assume about the numbers of a launch, and who checks it:
//
//   assumption                                 checked by
//   a size is not negative                     the runtime and the interpreter, for each dimension of a tensor; a `require`
//                                              for a size that only a `where` defines (irgen)
//   sizes and the number of cores are at most  the runtime and the interpreter, when they bind the sizes
//   KDL_LARGEST_SIZE
//   there is at least one core                 the runtime and the interpreter
//   sizes in the types of parameters and in    the kernel's launch check, which computes them without wrapping, as the
//   each `require` are 64-bit numbers          interpreter does
//   a tensor has less than 2^63 bytes          the runtime, for arguments; the size of the workspace, for tensors of the
//                                              launch
//   sums and products of these that the cores  limit-sizes: a `require` for each product, an assert for those with the
//   compute are 64-bit numbers                 number of cores; what these do not bound may wrap (wraps.h)
//   the indices of a loop that is distributed  limit-sizes: an assert before each loop whose bounds are not bounded by
//   to cores can be counted                    sizes
//   int generics have one of their choices,    instantiate
//   and are positive if the compiler chooses

/// Returns whether a `require` only bounds something by a number so large that it matters only for proofs
/// about wrapping, like the ones that limit-sizes adds. Other proofs ignore such a `require` to save time.
bool IsVast(const ir::Op* require);

}  // namespace kdl::proofs
