#include "tools/timing/selected_tiles.h"

#include <memory>
#include <utility>

#include "passes/analysis/hidden_constants.h"
#include "passes/target_facts.h"
#include "tools/explain/decide_targets.h"

namespace kdl::tools {

namespace {

/// Records which tile sizes a selector chooses, and why.
class NotingSelector final : public passes::TileSelector {
 public:
  NotingSelector(driver::Session& session, const targets::Target& target,
                 std::vector<SelectedTiles>& noted)
      : session_(session), level_(target.facts->level), own_(target.selector), noted_(noted) {}

  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen = own_->Select(kernel);
    if (IsWanted(kernel.name.text())) Note(kernel, chosen);
    return chosen;
  }

 private:
  bool IsWanted(std::string_view name) const {
    const std::string& wanted = session_.options.kernel;
    return wanted.empty() || name == wanted || name.starts_with(wanted + ".");
  }

  void Note(const ir::Function& kernel, const std::vector<int64_t>& chosen) const {
    SelectedTiles tiles{kernel.name.str(), level_};
    auto hidden = passes::HiddenConstants(kernel, session_.context);
    size_t next = 0;
    for (const ir::Generic& generic : kernel.generics) {
      if (!generic.is_auto || !generic.values.empty()) continue;
      tiles.chosen[generic.name.str()] = chosen.at(next++);
      auto known = hidden.find(generic.name);
      if (known != hidden.end())
        tiles.constants.push_back({generic.name.str(), known->second, generic.choices});
    }
    tiles.why = own_->Explain(kernel);
    noted_.push_back(std::move(tiles));
  }

  driver::Session& session_;
  std::string level_;
  std::shared_ptr<const passes::TileSelector> own_;
  std::vector<SelectedTiles>& noted_;
};

}  // namespace

std::shared_ptr<const passes::TileSelector> NotingSelectorFor(driver::Session& s,
                                                              const targets::Target& target,
                                                              std::vector<SelectedTiles>& noted) {
  return std::make_shared<const NotingSelector>(s, target, noted);
}

std::optional<std::vector<SelectedTiles>> SelectTilesOf(driver::Session& s,
                                                        std::optional<std::string> text) {
  std::vector<SelectedTiles> noted;
  auto note = [&](const targets::Target& target) { return NotingSelectorFor(s, target, noted); };
  if (!DecideTargets(s, note, driver::Until::Pipes, std::move(text)).ok()) return std::nullopt;
  return noted;
}

}  // namespace kdl::tools
