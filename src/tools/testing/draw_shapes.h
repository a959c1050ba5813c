#pragma once

#include <map>
#include <string>
#include <vector>

#include "driver/run/sizes.h"
#include "tools/loading/loaded_kernel.h"

namespace kdl::tools {

/// Values of the sizes that must be given for a run. `where` determines all other sizes.
using Shape = std::map<Name, int64_t>;

/// Returns text such as `M = 3, N = 5`.
std::string ShapeText(const Shape& shape);

/// Returns all sizes of the program for a shape. Returns nothing if they do not satisfy `where`.
std::optional<driver::SizeValues> Complete(const ir::Function& program, const Shape& shape);

/// Returns the approximate number of terms that are evaluated to check the contract for this shape.
double TermsAt(const LoadedKernel& kernel, const Shape& shape);

/// Returns the shapes to try, the simplest first: small primes, ones, shapes in which one size is
/// 0, and sizes near those of the tiles. All satisfy `where` and have the sizes in `set`. Shapes
/// whose contracts take too long to evaluate are omitted.
std::vector<Shape> DrawShapes(const LoadedKernel& kernel, const Shape& set);

/// Returns shapes that differ from `shape` in one smaller size, the smallest size first.
std::vector<Shape> SmallerShapes(const Shape& shape);

}  // namespace kdl::tools
