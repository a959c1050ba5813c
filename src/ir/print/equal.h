#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

struct EqualOptions {
  bool locs = false;  ///< whether to compare source locations of ops and functions, too
};

/// Describes the first difference between two modules with the same Context; returns an empty string if they
/// are equal. Equal modules have the same functions with the same ops on the same values, and the same names.
/// Differences in the numbering of index operands and in the positions of unnamed constants are ignored.
std::string Difference(const Module& a, const Module& b, EqualOptions options = {});
std::string Difference(const Function& a, const Function& b, EqualOptions options = {});

inline bool Equal(const Module& a, const Module& b, EqualOptions options = {}) {
  return Difference(a, b, options).empty();
}

}  // namespace kdl::ir
