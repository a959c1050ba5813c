#include "tools/explain/remedies.h"

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

/// Returns whether one declaration is worth changing for this: a tenth of the bytes.
bool IsMuchLess(int64_t bytes, int64_t than) { return bytes < than - than / 10; }

std::vector<std::string> NamesOf(const DeclaredTensors& declared, size_t group) {
  std::vector<std::string> names;
  for (const DeclaredTensor& tensor : declared.tensors)
    if (tensor.group == group) names.push_back(tensor.name);
  return names;
}

}  // namespace

std::vector<Remedy> FindRemedies(std::string text, const std::string& program, size_t axes,
                                 const CountSent& count, const CountSent& count_all) {
  std::vector<Remedy> remedies;
  std::optional<driver::RankTraffic> sent = count(text);
  size_t trials = 0;
  while (sent && sent->bytes > 0 && remedies.size() < kMostRemedies) {
    std::optional<DeclaredTensors> declared = ReadDeclaredTensors(text, program);
    if (!declared) break;
    ChangedText best{"", sent->bytes};
    const Redeclaration* chosen = nullptr;
    std::vector<Redeclaration> others = FindRedeclarations(*declared, axes);
    for (const Redeclaration& other : others) {
      if (++trials > kMostTrials) break;
      std::string changed = Redeclared(text, *declared, other);
      std::optional<driver::RankTraffic> less = count(changed);
      if (!less || less->bytes >= best.bytes) continue;
      best = {std::move(changed), less->bytes};
      chosen = &other;
    }
    if (!chosen || !IsMuchLess(best.bytes, sent->bytes)) break;
    std::optional<driver::RankTraffic> then = count_all(best.text);
    if (!then) break;
    remedies.push_back(
        {NamesOf(*declared, chosen->group), PlacementText(*declared, *chosen), *then});
    text = std::move(best.text);
    sent->bytes = best.bytes;
  }
  return remedies;
}

}  // namespace kdl::tools
