#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/run/sizes.h"
#include "tools/loading/loaded_kernel.h"

namespace kdl::tools {

/// Values of the sizes that a run has to be given; `where` gives the others.
using Shape = std::map<Name, int64_t>;

/// `M = 3, N = 5`.
std::string ShapeText(const Shape& shape);

/// All sizes, where they fulfil what `where` says.
std::optional<driver::SizeValues> Complete(const ir::Function& program, const Shape& shape);

/// The shapes to try, the plainest first: small primes, ones, each size 0 once, the edges of the tiles, each of them
/// such that `where` holds and the sizes in `set` are as there. Shapes whose contract takes long to evaluate are left out.
/// How many terms the contract has at this shape, about.
double TermsAt(const LoadedKernel& kernel, const Shape& shape);

std::vector<Shape> DrawShapes(const LoadedKernel& kernel, const Shape& set);

/// Shapes that are smaller in one size, the smallest first.
std::vector<Shape> SmallerShapes(const Shape& shape);

}  // namespace kdl::tools
