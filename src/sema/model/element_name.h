#pragma once

#include <cstddef>
#include <string>

#include "support/names.h"

namespace kdl::sema {

/// Returns the name of an element of a tuple, such as `m.0`. It is the name of the element's values in KIR, too.
inline Name ElementName(Name tuple, size_t element, Names& names) {
  return names.Intern(tuple.str() + "." + std::to_string(element));
}

}  // namespace kdl::sema
