#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare_targets.h"
#include "draw_kernel.h"
#include "judge_kernel.h"
#include "support/check.h"

// Generates kernels that are hard for the proofs and checks the compiler's claims. An accepted kernel must be
// clean under the sanitizer. A kernel refused with a counterexample must fail at the counterexample's sizes,
// as the error says.

namespace kdl::fuzz {

namespace {

struct Options {
  uint64_t kernels = 1000;
  uint64_t seed = 1;
  double seconds = 0;  ///< 0: no limit
  uint64_t most_found = 10;
  bool faults = false;  ///< plants faults in the proofs, and checks that each is found
  bool show = false;    ///< prints the kernels
  std::string only{};   ///< if not empty, only judges kernels with this feature
  std::vector<std::string> targets{};  ///< accepted kernels also run on these devices
};

std::optional<Options> Read(int count, char** words) {
  Options options;
  for (int n = 1; n < count; ++n) {
    std::string_view word = words[n];
    if (word == "--show" || word == "--faults") {
      (word == "--show" ? options.show : options.faults) = true;
      continue;
    }
    std::string_view value = n + 1 < count ? words[++n] : "";
    if (word == "--only") {
      options.only = value;
      continue;
    }
    if (word == "--target") {
      options.targets.emplace_back(value);
      continue;
    }
    uint64_t number = 0;
    auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc() || end != value.data() + value.size()) return std::nullopt;
    if (word == "--kernels")
      options.kernels = number;
    else if (word == "--seed")
      options.seed = number;
    else if (word == "--seconds")
      options.seconds = static_cast<double>(number);
    else if (word == "--most")
      options.most_found = number;
    else
      return std::nullopt;
  }
  return options;
}

using Time = std::chrono::steady_clock::time_point;

double SecondsSince(Time start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Counts {
  uint64_t accepted = 0;
  uint64_t definite = 0;
  uint64_t unproven = 0;
  uint64_t drawn() const { return accepted + definite + unproven; }
};

void Count(Counts& counts, Verdict verdict) {
  bool accepted =
      verdict == Verdict::Accepted || verdict == Verdict::Unsound || verdict == Verdict::Differs;
  ++(accepted ? counts.accepted : verdict == Verdict::Unproven ? counts.unproven : counts.definite);
}

void Print(std::string_view feature, const Counts& counts) {
  auto share = [&](uint64_t n) {
    return 100.0 * static_cast<double>(n) / static_cast<double>(counts.drawn());
  };
  fmt::print("{:<18}{:>8}{:>9.1f}%{:>9.1f}%{:>9.1f}%\n", feature, counts.drawn(),
             share(counts.accepted), share(counts.definite), share(counts.unproven));
}

/// For each fault planted in the proofs, checks that some random kernel is accepted although the sanitizer
/// finds an error in it.
int FindFaults(const Options& options) {
  std::vector<const Fault*> open;
  for (const Fault& fault : Faults()) open.push_back(&fault);
  auto start = std::chrono::steady_clock::now();
  for (uint64_t drawn = 0; drawn < options.kernels && !open.empty(); ++drawn) {
    uint64_t seed = options.seed + drawn;
    DoingScope doing(fmt::format("planting faults for drawn kernel {}", seed));
    DrawnKernel kernel = DrawKernel(seed);
    if (!IsRightlyRefused(kernel.text, seed)) continue;
    std::erase_if(open, [&](const Fault* fault) {
      if (!IsAcceptedWith(*fault, kernel.text)) return false;
      fmt::print("{:<40} found by kernel {}, seed {}\n", fault->name, drawn + 1, seed);
      std::fflush(stdout);
      if (options.show) fmt::print("{}\n", kernel.text);
      return true;
    });
  }
  for (const Fault* fault : open) fmt::print("FAILED: {}: not found\n", fault->name);
  fmt::print("{:.0f} s\n", SecondsSince(start));
  fmt::print("{} passed, {} failed\n", Faults().size() - open.size(), open.size());
  return open.empty() ? 0 : 1;
}

/// Also runs an accepted kernel on the targets, and compares the results.
void Compare(const std::string& text, uint64_t seed, const std::vector<std::string>& targets,
             Judgement& judgement, Comparison& all) {
  Comparison comparison = CompareTargets(text, seed, targets);
  all.runs += comparison.runs;
  all.refusals += comparison.refusals;
  if (comparison.what.empty()) return;
  judgement.verdict = Verdict::Differs;
  judgement.what = comparison.what;
}

int Main(const Options& options) {
  std::map<std::string, Counts> by_feature;
  Counts all;
  uint64_t found = 0;
  int64_t runs = 0;
  int64_t stops = 0;
  Comparison compared;
  auto start = std::chrono::steady_clock::now();
  uint64_t drawn = 0;
  for (; drawn < options.kernels && found < options.most_found; ++drawn) {
    if (options.seconds > 0 && SecondsSince(start) > options.seconds) break;
    uint64_t seed = options.seed + drawn;
    DoingScope doing(fmt::format("judging drawn kernel {}", seed));
    DrawnKernel kernel = DrawKernel(seed);
    if (!options.only.empty() && !kernel.features.contains(options.only)) continue;
    Judgement judgement = JudgeKernel(kernel, seed);
    runs += judgement.runs;
    stops += judgement.stops;
    // Kernels with a low limit on proof steps are not compared. With the usual limit, the proofs may refuse
    // what they would leave to run-time checks with a low limit.
    if (judgement.verdict == Verdict::Accepted && !options.targets.empty() && !kernel.steps)
      Compare(kernel.text, seed, options.targets, judgement, compared);
    if (options.show) fmt::print("// seed {}: {}\n{}\n", seed, judgement.what, kernel.text);
    bool wrong = judgement.verdict >= Verdict::Malformed;
    if (wrong) {
      ++found;
      std::string_view what = judgement.verdict == Verdict::Unsound   ? "accepted, but not clean"
                              : judgement.verdict == Verdict::Differs ? "compiled code differs"
                              : judgement.verdict == Verdict::Untrue  ? "refused for nothing"
                                                                      : "malformed";
      fmt::print("FAILED: seed {}: {}: {}\n{}\n", seed, what, judgement.what, kernel.text);
      std::fflush(stdout);
    }
    if (judgement.verdict == Verdict::Malformed) continue;
    Count(all, judgement.verdict);
    for (const std::string& feature : kernel.features)
      Count(by_feature[feature], judgement.verdict);
  }
  fmt::print("{:<18}{:>8}{:>10}{:>10}{:>10}\n", "feature", "drawn", "accepted", "definite",
             "unproven");
  for (const auto& [feature, counts] : by_feature) Print(feature, counts);
  if (all.drawn() > 0) Print("all", all);
  fmt::print(
      "{} kernels from seed {}, {} launches watched, {} of them stopped by a check, {:.0f} s\n",
      drawn, options.seed, runs, stops, SecondsSince(start));
  if (!options.targets.empty())
    fmt::print("{} launches of compiled code, {} of them stopped by a check\n", compared.runs,
               compared.refusals);
  fmt::print("{} passed, {} failed\n", drawn - found, found);
  return found == 0 ? 0 : 1;
}

}  // namespace

}  // namespace kdl::fuzz

int main(int count, char** words) {
  std::optional<kdl::fuzz::Options> options = kdl::fuzz::Read(count, words);
  if (!options) {
    fmt::print(
        stderr,
        "usage: {} [--kernels N] [--seed N] [--seconds N] [--most N] [--only FEATURE] [--show] "
        "[--faults] [--target SPEC]...\n",
        words[0]);
    return 2;
  }
  return options->faults ? kdl::fuzz::FindFaults(*options) : kdl::fuzz::Main(*options);
}
