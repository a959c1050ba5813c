// The functions under test, their exact values computed with MPFR, and the bounds that stdlib/math promises.
#pragma once

#include <mpfr.h>

#include <map>
#include <string>
#include <vector>

#include "ulp.h"

namespace accuracy {

// Sets the first argument to the exact value of the function for the other arguments. Functions of one
// argument ignore the last argument.
using Exact = void (*)(mpfr_t, mpfr_t, mpfr_t);

struct Function {
  const char* name;
  Exact exact;
  bool flushes;      // subnormal results are flushed to zero
  bool keeps_exact;  // results that the format can represent must be exact
  bool two_arguments = false;
};

// Returns the functions in the order of the report.
const std::vector<Function>& Functions();

Reference ReferenceOf(const Function& function, double x, double y, const Format& format);

// Returns {"exp_f32": 1, ...}, read from lines `/// ... error below 1 ulp ...` above `fn exp_f32(`.
std::map<std::string, double> StatedBounds(const std::string& folder);

}  // namespace accuracy
