// math_accuracy [--all] [--only NAME] STDLIB_MATH SHARED...: measures the kernels of the first shared object
// and prints, for each function and type, the bound, the worst error and its argument. The kernels of the
// other shared objects must give the same bits. The exit code is 1 if a bound is exceeded.
#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "arguments.h"
#include "functions.h"
#include "kdl/runtime.hpp"
#include "kdl/scalar.hpp"

namespace accuracy {
namespace {

constexpr std::uint64_t kBatch = 1 << 18;
constexpr std::uint64_t kStride = 251;  // a prime, so that all exponents and low bits occur

template <class T>
constexpr Format kFormat = kF64;
template <>
constexpr Format kFormat<float> = kF32;
template <>
constexpr Format kFormat<kdl::F16> = kF16;
template <>
constexpr Format kFormat<kdl::Bf16> = kBf16;

template <class T>
double Wide(T value) {
  if constexpr (kdl::Narrow<T>) {
    return kdl::As<double>(value);
  } else {
    return value;
  }
}

// The kernels of one shared object.
class Build {
 public:
  explicit Build(const char* path) {
    context_.Load(path);
    device_ = context_.Select("host?threads=1");
  }

  template <class T>
  std::vector<T> Evaluate(const Function& function, std::vector<T>& x, std::vector<T>& y) const {
    std::vector<T> result(x.size());
    const std::vector<std::int64_t> sizes = {static_cast<std::int64_t>(x.size())};
    const kdl::Tensor in = context_.Wrap(device_, x.data(), sizes, "x");
    const kdl::Tensor out = context_.Wrap(device_, result.data(), sizes, "result");
    const std::string kernel = function.name + std::string("_of");
    const kdl::Queue queue = device_.queue();
    if (function.two_arguments) {
      queue.Launch(kernel.c_str(), 1, {in, context_.Wrap(device_, y.data(), sizes, "y"), out});
    } else {
      queue.Launch(kernel.c_str(), 1, {in, out});
    }
    queue.Wait();
    return result;
  }

 private:
  kdl::Context context_;
  kdl::Device device_;
};

struct Worst {
  double ulp = -1;
  double x = 0;
  double y = 0;
  double got = 0;
  std::uint64_t count = 0;

  void Add(double error, double at, double at_y, double result) {
    ++count;
    if (error > ulp) *this = {error, at, at_y, result, count};
  }
};

template <class T>
bool SameBits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(Wide(a)) && std::isnan(Wide(b)));
}

class Session {
 public:
  Session(const std::string& folder, char** paths, int count, bool all)
      : bounds_(StatedBounds(folder)), stride_(all ? 1 : kStride) {
    for (int i = 0; i < count; ++i) builds_.push_back(std::make_unique<Build>(paths[i]));
  }

  void Check(const Function& function) {
    Worst wide = Listed<double>(function);
    Worst narrow = Listed<float>(function);
    if (!function.two_arguments) Sweep(function, narrow);
    Report(function, kF32, narrow, Stated(function, kF32));
    Report(function, kF64, wide, Stated(function, kF64));
    if (function.two_arguments) return;
    // These results are computed in f32 and then rounded, so the bound is half a unit plus the error of the
    // f32 result.
    const double unit = Stated(function, kF32);
    Report(function, kF16, Every<kdl::F16>(function), 0.5 + unit * 0x1p-12);
    Report(function, kBf16, Every<kdl::Bf16>(function), 0.5 + unit * 0x1p-15);
  }

  int failed() const { return failed_; }
  int passed() const { return passed_; }

 private:
  double Stated(const Function& function, const Format& format) const {
    const auto found = bounds_.find(function.name + std::string("_") + format.name);
    return found == bounds_.end() ? -1 : found->second;  // no stated bound, so all results fail
  }

  void Count(bool good) { ++(good ? passed_ : failed_); }

  void Report(const Function& function, const Format& format, const Worst& worst, double bound) {
    const bool good = worst.ulp <= bound;
    Count(good);
    std::printf("%-8s%-5s bound %-8.6g worst %-9.6g at %.17g", function.name, format.name, bound,
                worst.ulp, worst.x);
    if (function.two_arguments) std::printf(", %.17g", worst.y);
    std::printf(" (%a gave %a), %" PRIu64 " arguments%s\n", worst.x, worst.got, worst.count,
                good ? "" : "  <-- above the bound");
  }

  // Returns the results of the first build. The other builds must give the same results.
  template <class T>
  std::vector<T> Results(const Function& function, std::vector<T>& x, std::vector<T>& y) {
    const std::vector<T> results = builds_[0]->Evaluate(function, x, y);
    for (std::size_t other = 1; other < builds_.size(); ++other) {
      const std::vector<T> again = builds_[other]->Evaluate(function, x, y);
      const auto [a, b] = std::mismatch(results.begin(), results.end(), again.begin(), SameBits<T>);
      const bool same = a == results.end();
      Count(same);
      if (same) continue;
      const auto at = static_cast<std::size_t>(a - results.begin());
      std::printf("%s at %a: %a, build %zu says %a\n", function.name, Wide(x[at]), Wide(*a), other,
                  Wide(*b));
    }
    return results;
  }

  template <class T>
  Worst Measured(const Function& function, std::vector<T>& x, std::vector<T>& y) {
    const Format& format = kFormat<T>;
    const std::vector<T> results = Results(function, x, y);
    Worst worst;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double at_y = y.empty() ? 0 : Wide(y[i]);
      const double got = Wide(results[i]);
      const bool flushes = function.flushes && format.exponent != kF16.exponent;
      const Reference reference = ReferenceOf(function, Wide(x[i]), at_y, format);
      double error = Distance(got, reference, format, flushes);
      if (function.keeps_exact && error > 0 && IsExact(reference, format) &&
          !(flushes && reference.subnormal)) {
        error = std::numeric_limits<double>::infinity();
      }
      worst.Add(error, Wide(x[i]), at_y, got);
    }
    return worst;
  }

  static bool IsExact(const Reference& reference, const Format& format) {
    return reference.low == 0 && std::isfinite(reference.high) &&
           std::fabs(reference.high) < std::ldexp(1.0, format.digits) &&
           reference.high == std::nearbyint(reference.high);
  }

  template <class T>
  Worst Listed(const Function& function) {
    std::vector<T> x, y;
    if (function.two_arguments) {
      for (const auto& [base, power] : Powers(kFormat<T>)) {
        x.push_back(static_cast<T>(base));
        y.push_back(static_cast<T>(power));
      }
    } else {
      for (double value : Arguments(kFormat<T>)) x.push_back(static_cast<T>(value));
    }
    return Measured(function, x, y);
  }

  template <class T>
  Worst Every(const Function& function) {
    std::vector<T> x, y;
    for (unsigned bits = 0; bits < 65536; ++bits) x.push_back({static_cast<std::uint16_t>(bits)});
    return Measured(function, x, y);
  }

  // Compares f32 results for arguments that are `stride_` apart with the results of the f64 kernel. The
  // worst result of each batch is also compared with MPFR.
  void Sweep(const Function& function, Worst& worst) {
    std::vector<float> suspects, none;
    std::vector<double> no_wide;
    std::uint64_t seen = 0;
    for (std::uint64_t from = 0; from < 0x100000000; from += kBatch * stride_) {
      std::vector<float> x;
      for (std::uint64_t bits = from; bits < 0x100000000 && x.size() < kBatch; bits += stride_) {
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
      }
      std::vector<double> wide(x.begin(), x.end());
      const std::vector<float> got = builds_[0]->Evaluate(function, x, none);
      const std::vector<double> want = builds_[0]->Evaluate(function, wide, no_wide);
      double most = -1;
      std::size_t at = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        // An ulp of a normal number is at least 2^-24 times the number, so most arguments need no exact
        // distance.
        const double size = std::fabs(want[i]);
        const bool normal = size >= kF32.least && size < 0x1p127;
        if (normal && std::fabs(got[i] - want[i]) <= most * size * 0x1p-24) continue;
        const double error = Distance(got[i], ReferenceOf(want[i], kF32), kF32, function.flushes);
        if (error > most) most = error, at = i;
      }
      suspects.push_back(x[at]);
      seen += x.size();
    }
    Worst found = Measured(function, suspects, none);
    const std::uint64_t count = worst.count + seen;
    if (found.ulp > worst.ulp) worst = found;
    worst.count = count;
  }

  std::map<std::string, double> bounds_;
  std::uint64_t stride_;
  std::vector<std::unique_ptr<Build>> builds_;
  int passed_ = 0;
  int failed_ = 0;
};

int Main(int count, char** words) {
  int first = 1;
  const bool all = first < count && std::strcmp(words[first], "--all") == 0;
  if (all) ++first;
  std::string only;
  if (first + 1 < count && std::strcmp(words[first], "--only") == 0) {
    only = words[first + 1];
    first += 2;
  }
  if (count < first + 2) {
    std::fprintf(stderr, "usage: math_accuracy [--all] [--only NAME] STDLIB_MATH SHARED...\n");
    return 2;
  }
  Session session(words[first], words + first + 1, count - first - 1, all);
  for (const Function& function : Functions()) {
    if (only.empty() || only == function.name) session.Check(function);
  }
  std::printf("%d passed, %d failed\n", session.passed(), session.failed());
  return session.failed() == 0 && session.passed() > 0 ? 0 : 1;
}

}  // namespace
}  // namespace accuracy

int main(int count, char** words) {
  try {
    return accuracy::Main(count, words);
  } catch (const kdl::Error& error) {
    std::fprintf(stderr, "math_accuracy: %s\n", error.what());
    return 1;
  }
}
