#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

struct EqualOptions {
  bool locs = false;  ///< also compare the source locations of ops and functions
};

/// Returns the first difference between two modules of one Context, in words; empty if they are equal, which
/// means the same functions with the same ops on the same values, including names. The numbering of an
/// access's index operands does not matter.
std::string Difference(const Module& a, const Module& b, EqualOptions options = {});
std::string Difference(const Function& a, const Function& b, EqualOptions options = {});

inline bool Equal(const Module& a, const Module& b, EqualOptions options = {}) {
  return Difference(a, b, options).empty();
}

}  // namespace kdl::ir
