// The functions under test: what MPFR says of them, what stdlib/math promises.
#pragma once

#include <mpfr.h>

#include <map>
#include <string>
#include <vector>

#include "ulp.h"

namespace accuracy {

// Sets the first to the function of the others; the last is only for functions of two arguments.
using Exact = void (*)(mpfr_t, mpfr_t, mpfr_t);

struct Function {
  const char* name;
  Exact exact;
  bool flushes;      // subnormal results are zeros
  bool keeps_exact;  // results that are numbers of the format come out as these
  bool two_arguments = false;
};

// In the order of the report.
const std::vector<Function>& Functions();

Reference ReferenceOf(const Function& function, double x, double y, const Format& format);

// {"exp_f32": 1, ...} from lines `/// ... error below 1 ulp ...` above `fn exp_f32(`.
std::map<std::string, double> StatedBounds(const std::string& folder);

}  // namespace accuracy
