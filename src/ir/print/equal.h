#pragma once

#include <string>

#include "ir/module.h"

namespace kdl::ir {

struct EqualOptions {
  bool locs = false;  ///< also compare the source locations of ops and functions
};

/// Describes the first difference between two modules of one Context; returns an empty string if they are
/// equal. Equal modules have the same functions with the same ops on the same values, and the same names.
/// The order in which accesses number their index operands does not matter, nor where constants without a
/// name are.
std::string Difference(const Module& a, const Module& b, EqualOptions options = {});
std::string Difference(const Function& a, const Function& b, EqualOptions options = {});

inline bool Equal(const Module& a, const Module& b, EqualOptions options = {}) {
  return Difference(a, b, options).empty();
}

}  // namespace kdl::ir
