#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/run/sizes.h"
#include "tools/loading/loaded_kernel.h"

namespace kdl::tools {

/// Values of the sizes that must be given for a run. `where` determines the others.
using Shape = std::map<Name, int64_t>;

/// Returns `M = 3, N = 5`.
std::string ShapeText(const Shape& shape);

/// Returns all sizes, if they satisfy `where`.
std::optional<driver::SizeValues> Complete(const ir::Function& program, const Shape& shape);

/// Returns the approximate number of terms that the contract has for this shape.
double TermsAt(const LoadedKernel& kernel, const Shape& shape);

/// Returns the shapes to try, the simplest first: small primes, ones, each size 0 once, and sizes
/// near those of the tiles. All satisfy `where` and have the sizes in `set`. Shapes whose contracts
/// take long to evaluate are left out.
std::vector<Shape> DrawShapes(const LoadedKernel& kernel, const Shape& set);

/// Returns shapes in which one size is smaller, the smallest first.
std::vector<Shape> SmallerShapes(const Shape& shape);

}  // namespace kdl::tools
