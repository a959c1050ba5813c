#include "driver/compile/tuned.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <sstream>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "passes/analysis/hidden_constants.h"
#include "passes/target_facts.h"

// The format of a tuning file. An entry lists trials. The trial with the largest gain is used.
//
// kernel matmul on x86-64-v4 threads=1 at K=256 M=256 N=256
//   selector BK=192 BM=336 BN=512
//   tried 1.042 BK=192 BM=168 BN=512
//   failed BK=192 BM=672 BN=512: …

namespace kdl::driver {

namespace {

constexpr std::string_view kHead =
    "# Measured by `kernelc tune`; `--tuned FILE` uses the best tiles of each kernel.\n# `tried "
    "1.042 …`: these tiles are 1.042 times as fast as the selector's choice.";

int Digits(int64_t size) { return std::bit_width(static_cast<uint64_t>(size)); }

template <class Number>
bool ReadNumber(std::string_view word, Number& number) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc() && end == word.data() + word.size();
}

/// Reads `NAME=NUMBER`.
bool ReadTile(std::string_view word, Tiles& tiles) {
  size_t sign = word.find('=');
  int64_t value = 0;
  if (sign == std::string_view::npos || !ReadNumber(word.substr(sign + 1), value) || value < 0)
    return false;
  return tiles.emplace(std::string(word.substr(0, sign)), value).second;
}

class Reader {
 public:
  /// Parses a line. Returns what is wrong with it, or an empty string.
  std::string Read(const std::string& line) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first[0] == '#') return "";
    if (first == "kernel") return ReadKernel(words);
    if (kernels_.empty()) return "there is no `kernel` line above";
    TunedKernel& kernel = kernels_.back();
    if (first == "selector") return ReadTiles(words, kernel.selector);
    TunedKernel::Trial trial;
    if (first == "failed") {
      size_t colon = line.find(": ");
      if (colon == std::string::npos) return "there is no reason after ': '";
      std::istringstream tiles(line.substr(0, colon));
      tiles >> first;
      trial.failure = line.substr(colon + 2);
      return Add(kernel, trial, ReadTiles(tiles, trial.tiles));
    }
    std::string gain;
    if (first != "tried" || !(words >> gain) || !ReadNumber(gain, trial.gain) ||
        !IsGain(trial.gain))
      return "expected `kernel …`, `selector …`, `tried GAIN …` or `failed …: WHY`";
    return Add(kernel, trial, ReadTiles(words, trial.tiles));
  }

  std::vector<TunedKernel> Take() { return std::move(kernels_); }

 private:
  static bool IsGain(double gain) { return gain > 0 && std::isfinite(gain); }

  static std::string Add(TunedKernel& kernel, const TunedKernel::Trial& trial, std::string fault) {
    if (fault.empty()) kernel.trials.push_back(trial);
    return fault;
  }

  static std::string ReadTiles(std::istream& words, Tiles& tiles) {
    for (std::string word; words >> word;) {
      if (!ReadTile(word, tiles))
        return fmt::format("'{}' is not NAME=NUMBER with a name of its own", word);
    }
    return tiles.empty() ? "expected NAME=NUMBER" : "";
  }

  std::string ReadKernel(std::istream& words) {
    TunedKernel kernel;
    std::string on;
    std::string at;
    std::string threads;
    constexpr std::string_view kThreads = "threads=";
    bool reads = words >> kernel.kernel >> on >> kernel.level >> threads >> at && on == "on" &&
                 at == "at" && threads.starts_with(kThreads) &&
                 ReadNumber(std::string_view(threads).substr(kThreads.size()), kernel.threads);
    if (!reads) return "expected `kernel NAME on LEVEL threads=N at NAME=SIZE …`";
    for (std::string word; words >> word;) {
      if (!ReadTile(word, kernel.sizes))
        return fmt::format("'{}' is not NAME=SIZE with a name of its own", word);
    }
    kernels_.push_back(std::move(kernel));
    return "";
  }

  std::vector<TunedKernel> kernels_;
};

/// Chooses the tile sizes in the tuning file. For kernels that the file does not contain, uses the
/// target's selector.
class TunedSelector final : public passes::TileSelector {
 public:
  TunedSelector(Session& session, const targets::Target& target, std::shared_ptr<TunedFile> tuned)
      : session_(session),
        level_(target.facts->level),
        own_(target.selector),
        tuned_(std::move(tuned)) {}

  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen = own_->Select(kernel);
    const TunedKernel* tuned = Find(kernel);
    if (!chosen.empty()) NoteFound(kernel, tuned);
    const TunedKernel::Trial* best = tuned ? tuned->Best() : nullptr;
    if (!best) return chosen;
    std::vector<int64_t> taken = chosen;
    if (std::string fault = Take(kernel, best->tiles, taken); !fault.empty()) {
      session_.diagnostics.Report(diag::TunedNotTaken, {}, kernel.name.text(), fault);
      return chosen;
    }
    return taken;
  }

 private:
  /// Replaces the values in `chosen` with those in `tiles`. Returns the reason if that is not
  /// possible, or an empty string otherwise.
  std::string Take(const ir::Function& kernel, const Tiles& tiles,
                   std::vector<int64_t>& chosen) const {
    auto hidden = passes::HiddenConstants(kernel, session_.context);
    size_t number = 0;
    size_t taken = 0;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      int64_t& value = chosen[number++];
      auto tile = tiles.find(generic.name.str());
      if (tile == tiles.end()) continue;
      ++taken;
      if (tile->second == value) continue;
      bool listed = generic.choices.empty() || Contains(generic.choices, tile->second);
      auto known = hidden.find(generic.name);
      bool fits = tile->second >= 1 && tile->second <= TunedKernel::kLongestBlock;
      if (known == hidden.end() || !listed || !fits)
        return fmt::format("{} cannot be {}", tile->first, tile->second);
      if (tile->second % known->second != 0 || value % known->second != 0)
        return fmt::format("{} must be a multiple of {}", tile->first, known->second);
      value = tile->second;
    }
    return taken == tiles.size() ? "" : "the kernel has other constants";
  }

  void NoteFound(const ir::Function& kernel, bool found) const {
    tuned_->knew_one |= found;
    if (!found && tuned_->unknown.empty())
      tuned_->unknown = fmt::format("'{}' on {}", kernel.name.text(), level_);
  }

  const TunedKernel* Find(const ir::Function& kernel) const {
    const TunedKernel* found = nullptr;
    int most = -1;
    for (const TunedKernel& one : tuned_->kernels) {
      if (one.kernel != kernel.name.text() || one.level != level_) continue;
      int nearness = Nearness(one);
      if (nearness <= most) continue;
      found = &one;
      most = nearness;
    }
    return found;
  }

  /// Returns the number of --set sizes that are in the same size class as the corresponding sizes
  /// of the entry.
  int Nearness(const TunedKernel& one) const {
    int nearness = 0;
    for (const std::string& text : session_.options.set) {
      Tiles size;
      if (!ReadTile(text, size)) continue;
      auto known = one.sizes.find(size.begin()->first);
      nearness += known != one.sizes.end() && Digits(known->second) == Digits(size.begin()->second);
    }
    return nearness;
  }

  Session& session_;
  std::string level_;
  std::shared_ptr<const passes::TileSelector> own_;
  std::shared_ptr<TunedFile> tuned_;
};

}  // namespace

std::string TilesText(const Tiles& tiles) {
  std::string text;
  for (const auto& [name, value] : tiles)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

double TunedKernel::AsWritten(double gain) {
  constexpr double kParts = 1000;
  return std::max(std::round(gain * kParts), 1.0) / kParts;
}

const TunedKernel::Trial* TunedKernel::Best() const {
  const Trial* best = nullptr;
  for (const Trial& trial : trials) {
    bool gained = trial.gain >= kWorthwhile && (!best || trial.gain > best->gain);
    if (gained) best = &trial;
  }
  return best;
}

const TunedKernel::Trial* TunedKernel::Find(const Tiles& tiles) const {
  auto found = std::ranges::find(trials, tiles, &Trial::tiles);
  return found == trials.end() ? nullptr : &*found;
}

bool TunedKernel::SameKey(const TunedKernel& other) const {
  if (kernel != other.kernel || level != other.level || threads != other.threads) return false;
  return std::ranges::equal(sizes, other.sizes, [](const auto& a, const auto& b) {
    return a.first == b.first && Digits(a.second) == Digits(b.second);
  });
}

std::string TunedText(const std::vector<TunedKernel>& kernels) {
  std::string text = fmt::format("{}\n", kHead);
  for (const TunedKernel& one : kernels) {
    text += fmt::format("\nkernel {} on {} threads={} at {}\n  selector {}\n", one.kernel,
                        one.level, one.threads, TilesText(one.sizes), TilesText(one.selector));
    for (const TunedKernel::Trial& trial : one.trials) {
      text += trial.failure.empty()
                  ? fmt::format("  tried {:.3f} {}\n", trial.gain, TilesText(trial.tiles))
                  : fmt::format("  failed {}: {}\n", TilesText(trial.tiles), trial.failure);
    }
  }
  return text;
}

std::optional<std::vector<TunedKernel>> ReadTuned(const std::string& path, const std::string& text,
                                                  DiagnosticEngine& diagnostics) {
  Reader reader;
  std::istringstream lines(text);
  int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::string fault = reader.Read(line);
    if (fault.empty()) continue;
    diagnostics.Report(diag::NotTuned, {}, path, number, fault);
    return std::nullopt;
  }
  return reader.Take();
}

std::shared_ptr<TunedFile> ReadTunedFile(Session& s) {
  constexpr size_t kMostBytes = size_t{16} << 20;
  const std::string& path = s.options.tuned;
  std::optional<std::string> text = ReadInputFile(path, kMostBytes, s.diagnostics);
  auto tuned = text ? ReadTuned(path, *text, s.diagnostics) : std::nullopt;
  return tuned ? std::make_shared<TunedFile>(TunedFile{std::move(*tuned)}) : nullptr;
}

SelectorAround TakeTuned(Session& s, std::shared_ptr<TunedFile> file) {
  return [&s, file = std::move(file)](const targets::Target& target) {
    // Tuning is limited to exact targets, because on inexact ones the results may depend on the
    // tile sizes.
    bool takes = target.facts->exact;
    return takes ? std::make_shared<const TunedSelector>(s, target, file) : target.selector;
  };
}

void ReportUnknown(const TunedFile& file, Session& s) {
  if (file.knew_one) return;
  std::string_view unknown = file.unknown;
  if (unknown.empty()) unknown = "the kernels of this build";
  s.diagnostics.Report(diag::TunedElsewhere, {}, s.options.tuned, unknown)
      .Help("run `kernelc tune` with the same --target and --tuned");
}

}  // namespace kdl::driver
