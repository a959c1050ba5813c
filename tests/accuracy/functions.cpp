#include "functions.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

namespace accuracy {

namespace {

constexpr mpfr_prec_t kDigits = 160;

template <int (*Function)(mpfr_t, mpfr_srcptr, mpfr_rnd_t)>
void One(mpfr_t result, mpfr_t x, mpfr_t) {
  Function(result, x, MPFR_RNDN);
}

void Sigmoid(mpfr_t result, mpfr_t x, mpfr_t) {
  mpfr_neg(result, x, MPFR_RNDN);
  mpfr_exp(result, result, MPFR_RNDN);
  mpfr_add_ui(result, result, 1, MPFR_RNDN);
  mpfr_ui_div(result, 1, result, MPFR_RNDN);
}

void ReciprocalRoot(mpfr_t result, mpfr_t x, mpfr_t) {
  mpfr_rec_sqrt(result, x, MPFR_RNDN);
  if (mpfr_zero_p(x)) mpfr_set_inf(result, mpfr_signbit(x) ? -1 : 1);  // like 1 / sqrt(-0.0)
}

void ArcTangent2(mpfr_t result, mpfr_t y, mpfr_t x) { mpfr_atan2(result, y, x, MPFR_RNDN); }

void Power(mpfr_t result, mpfr_t x, mpfr_t y) { mpfr_pow(result, x, y, MPFR_RNDN); }

// MPFR numbers that all calls share. This is not thread-safe, but the program has only one thread.
struct Numbers {
  mpfr_t result, x, y;
  Numbers() { mpfr_inits2(kDigits, result, x, y, mpfr_ptr{}); }
  ~Numbers() { mpfr_clears(result, x, y, mpfr_ptr{}); }
};

}  // namespace

const std::vector<Function>& Functions() {
  static const std::vector<Function> functions = {
      {"exp", One<mpfr_exp>, true, true},        {"exp2", One<mpfr_exp2>, true, true},
      {"expm1", One<mpfr_expm1>, false, true},   {"log", One<mpfr_log>, false, true},
      {"log2", One<mpfr_log2>, false, true},     {"log1p", One<mpfr_log1p>, false, true},
      {"sin", One<mpfr_sin>, false, true},       {"cos", One<mpfr_cos>, false, true},
      {"tan", One<mpfr_tan>, false, true},       {"asin", One<mpfr_asin>, false, true},
      {"acos", One<mpfr_acos>, false, true},     {"atan", One<mpfr_atan>, false, true},
      {"sinh", One<mpfr_sinh>, false, true},     {"cosh", One<mpfr_cosh>, false, true},
      {"tanh", One<mpfr_tanh>, false, true},     {"erf", One<mpfr_erf>, false, true},
      {"sigmoid", Sigmoid, true, true},          {"sqrt", One<mpfr_sqrt>, false, true},
      {"rsqrt", ReciprocalRoot, false, true},    {"pow", Power, true, true, true},
      {"atan2", ArcTangent2, false, true, true},
  };
  return functions;
}

Reference ReferenceOf(const Function& function, double x, double y, const Format& format) {
  static Numbers numbers;
  mpfr_set_d(numbers.x, x, MPFR_RNDN);
  mpfr_set_d(numbers.y, y, MPFR_RNDN);
  function.exact(numbers.result, numbers.x, numbers.y);
  return ReferenceOf(numbers.result, format);
}

std::map<std::string, double> StatedBounds(const std::string& folder) {
  const std::regex bound(R"(error below ([\d.]+) ulp)");
  const std::regex head(R"(fn (\w+_f(?:32|64))\()");
  // stdlib does not define sqrt
  std::map<std::string, double> bounds = {{"sqrt_f32", 0.5}, {"sqrt_f64", 0.5}};
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::string comment;
    for (std::string line; std::getline(file, line);) {
      std::smatch name;
      std::smatch number;
      if (line.starts_with("///")) {
        comment += line;
        continue;
      }
      if (std::regex_search(line, name, head) && std::regex_search(comment, number, bound)) {
        bounds[name[1]] = std::stod(number[1]);
      }
      comment.clear();
    }
  }
  return bounds;
}

}  // namespace accuracy
