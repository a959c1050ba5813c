#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

struct EqualOptions {
  bool locs = false;  ///< compare where ops and functions come from, too
};

/// The first difference of two modules of one Context, in words; empty where they are equal: the
/// same functions with the same ops on the same values, names included. How an access numbers its
/// index operands is no difference.
std::string Difference(const Module& a, const Module& b, EqualOptions options = {});
std::string Difference(const Function& a, const Function& b, EqualOptions options = {});

inline bool Equal(const Module& a, const Module& b, EqualOptions options = {}) {
  return Difference(a, b, options).empty();
}

}  // namespace kdl::ir
