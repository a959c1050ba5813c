#include "tools/explain/remedies.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tools/explain/redeclarations.h"

namespace kdl::tools {

namespace {

constexpr size_t kMostRemedies = 4;
constexpr size_t kMostTrials = 64;

/// A text, and what the ranks send with it.
struct ChangedText {
  std::string text;
  int64_t bytes = 0;
};

/// Returns whether `bytes` is at least a tenth less than `than`.
bool IsMuchLess(int64_t bytes, int64_t than) { return bytes <= than - than / 10; }

std::vector<std::string> NamesOf(const DeclaredTensors& declared, const Redeclaration& other) {
  std::vector<std::string> names;
  for (const DeclaredTensor& tensor : declared.tensors)
    if (other.Changes(tensor)) names.push_back(tensor.name);
  return names;
}

/// Adds a remedy. Those before it no longer concern its tensors, which are only declared once.
void Add(Remedy remedy, std::vector<Remedy>& remedies) {
  for (Remedy& earlier : remedies)
    std::erase_if(earlier.tensors, [&](const std::string& name) {
      return std::ranges::count(remedy.tensors, name) > 0;
    });
  std::erase_if(remedies, [](const Remedy& earlier) { return earlier.tensors.empty(); });
  remedies.push_back(std::move(remedy));
}

}  // namespace

std::optional<std::vector<Remedy>> FindRemedies(std::string text, const std::string& program,
                                                size_t axes, int64_t bytes, const CountSent& count,
                                                const CountSent& count_all) {
  std::vector<Remedy> remedies;
  std::optional<driver::RankTraffic> sent = count(text);
  // Even if the program takes too long to count, others may not.
  int64_t least = sent ? sent->bytes : INT64_MAX;
  bool has_counted = sent.has_value();
  size_t trials = 0;
  while (least > 0 && remedies.size() < kMostRemedies) {
    std::optional<DeclaredTensors> declared = ReadDeclaredTensors(text, program);
    if (!declared) break;
    ChangedText best{"", least};
    const Redeclaration* chosen = nullptr;
    std::vector<Redeclaration> others = FindRedeclarations(*declared, axes);
    for (const Redeclaration& other : others) {
      if (++trials > kMostTrials) break;
      std::string changed = Redeclared(text, *declared, other);
      std::optional<driver::RankTraffic> less = count(changed);
      has_counted = has_counted || less;
      if (!less || less->bytes >= best.bytes) continue;
      best = {std::move(changed), less->bytes};
      chosen = &other;
    }
    if (!chosen || !IsMuchLess(best.bytes, least)) break;
    std::optional<driver::RankTraffic> then = count_all(best.text);
    if (!then || !IsMuchLess(then->bytes, bytes)) break;
    Add({NamesOf(*declared, *chosen), PlacementText(*declared, *chosen), *then}, remedies);
    text = std::move(best.text);
    least = best.bytes;
    bytes = then->bytes;
  }
  return has_counted ? std::optional(std::move(remedies)) : std::nullopt;
}

}  // namespace kdl::tools
