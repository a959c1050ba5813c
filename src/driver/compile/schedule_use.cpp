#include "driver/compile/schedule_use.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/pipelines/pipeline_file.h"
#include "driver/schedules/kernel_hash.h"
#include "passes/analysis/hidden_constants.h"
#include "passes/target_facts.h"
#include "support/contains.h"

namespace kdl::driver {

namespace {

Span SpanOf(const Session& s, const SchedulePlace& place) {
  return s.sources.FindSpan(s.schedules->path, place.line, place.column, place.length);
}

/// Chooses the values of constants that a schedule names. For all others, and for kernels without a schedule, uses the
/// target's selector.
class TileChoice final : public passes::TileSelector {
 public:
  TileChoice(Session& session, const targets::Target& target)
      : session_(session), level_(target.facts->level), own_(target.selector) {}

  std::vector<int64_t> Select(const ir::Function& kernel) const override {
    std::vector<int64_t> chosen = own_->Select(kernel);
    const Schedule* schedule = FindSchedule(session_, kernel.name.text(), level_);
    if (!schedule) return chosen;
    std::vector<int64_t> replaced = chosen;
    for (const auto& [name, value] : schedule->tiles) {
      std::string fault = Replace(kernel, name, value, replaced);
      if (fault.empty()) continue;
      session_.diagnostics.Report(diag::ScheduleValue, SpanOf(session_, PlaceOf(*schedule, name)),
                                  fault);
      return chosen;
    }
    return replaced;
  }

  std::string Explain(const ir::Function& kernel) const override {
    std::string text = own_->Explain(kernel);
    const Schedule* schedule = FindSchedule(session_, kernel.name.text(), level_);
    if (!schedule || schedule->tiles.empty() || session_.schedules->path.empty()) return text;
    return fmt::format("  {} sets {}\n{}",
                       session_.schedules->LineOf(schedule->tile_places.begin()->second),
                       TilesText(schedule->tiles), text);
  }

 private:
  static SchedulePlace PlaceOf(const Schedule& schedule, const std::string& tile) {
    auto found = schedule.tile_places.find(tile);
    return found == schedule.tile_places.end() ? SchedulePlace() : found->second;
  }

  /// Replaces the value of a constant in `chosen`. Returns the reason if that is not possible, or an empty string.
  std::string Replace(const ir::Function& kernel, const std::string& name, int64_t wanted,
                      std::vector<int64_t>& chosen) const {
    size_t number = 0;
    for (const ir::Generic& generic : kernel.generics) {
      bool is_chosen = generic.is_auto && generic.values.empty();
      size_t at = is_chosen ? number++ : 0;
      if (generic.name.text() != name) continue;
      if (!is_chosen || chosen[at] == wanted) return "";  // -D has precedence
      std::string fault = FaultOf(kernel, generic, wanted, chosen[at]);
      if (fault.empty()) chosen[at] = wanted;
      return fault;
    }
    return fmt::format("'{}' has no constant '{}' that is `auto`", kernel.name.text(), name);
  }

  std::string FaultOf(const ir::Function& kernel, const ir::Generic& generic, int64_t wanted,
                      int64_t chosen) const {
    auto hidden = passes::HiddenConstants(kernel, session_.context);
    auto known = hidden.find(generic.name);
    if (known == hidden.end())
      return fmt::format("'{}' of '{}' cannot be {}, because results depend on it",
                         generic.name.text(), kernel.name.text(), wanted);
    bool listed = generic.choices.empty() || Contains(generic.choices, wanted);
    if (!listed || wanted < 1 || wanted > kLongestBlock)
      return fmt::format("'{}' of '{}' cannot be {}", generic.name.text(), kernel.name.text(),
                         wanted);
    if (wanted % known->second != 0 || chosen % known->second != 0)
      return fmt::format("'{}' of '{}' must be a multiple of {}", generic.name.text(),
                         kernel.name.text(), known->second);
    return "";
  }

  Session& session_;
  std::string level_;
  std::shared_ptr<const passes::TileSelector> own_;
};

/// Returns the number of sizes of --set that are in the same class as those of the schedule.
int Nearness(const Schedule& schedule, const Options& options) {
  int nearness = 0;
  for (const std::string& text : options.set) {
    size_t sign = text.find('=');
    int64_t size = 0;
    if (sign == std::string::npos) continue;
    auto known = schedule.sizes.find(text.substr(0, sign));
    auto [end, error] = std::from_chars(text.data() + sign + 1, text.data() + text.size(), size);
    bool reads = error == std::errc() && end == text.data() + text.size();
    nearness += reads && known != schedule.sizes.end() && SameClass(known->second, size);
  }
  return nearness;
}

const passes::Pass* FindPass(const targets::Family& family, std::string_view name) {
  for (passes::Pipeline list : ListsOf(family)) {
    for (const passes::Pass* pass : list) {
      if (pass->name == name) return pass;
    }
  }
  return nullptr;
}

/// Sets the options of one pass for a kernel.
class OptionSetter {
 public:
  OptionSetter(Session& session, const targets::Target& target, const Schedule& schedule,
               Name kernel, passes::PassSettings& settings)
      : session_(session),
        target_(target),
        schedule_(schedule),
        kernel_(kernel),
        settings_(settings) {}

  bool Set(const std::string& pass_name, const Tiles& values) {
    const targets::Family& family = *target_.family;
    const passes::Pass* pass = FindPass(family, pass_name);
    if (!pass) {
      session_.diagnostics.Report(
          diag::ScheduleValue, SpanOf(session_, PlaceOf(pass_name)),
          fmt::format("family '{}' has no pass '{}'", family.name, pass_name));
      return false;
    }
    return std::ranges::all_of(
        values, [&](const auto& one) { return SetOption(*pass, one.first, one.second); });
  }

 private:
  bool SetOption(const passes::Pass& pass, const std::string& name, int64_t value) {
    SchedulePlace place = PlaceOf(fmt::format("{}.{}", pass.name, name));
    auto named = [&](const passes::PassOption* one) { return one->name == name; };
    const auto* option = std::find_if(pass.options.begin(), pass.options.end(), named);
    if (option == pass.options.end()) {
      session_.diagnostics.Report(diag::PipelineOption, SpanOf(session_, place), pass.name, name);
      return false;
    }
    if (value < (*option)->least || value > (*option)->most) {
      session_.diagnostics.Report(diag::PipelineRange, SpanOf(session_, place), name,
                                  (*option)->least, (*option)->most, value, target_.facts->level);
      return false;
    }
    settings_.SetFor(kernel_, **option, {value, session_.schedules->LineOf(place)});
    return true;
  }

  SchedulePlace PlaceOf(const std::string& name) const {
    auto found = schedule_.pass_places.find(name);
    return found == schedule_.pass_places.end() ? SchedulePlace() : found->second;
  }

  Session& session_;
  const targets::Target& target_;
  const Schedule& schedule_;
  Name kernel_;
  passes::PassSettings& settings_;
};

}  // namespace

std::string ScheduleFile::LineOf(const SchedulePlace& place) const {
  return path.empty() ? "" : fmt::format("{}:{}", path, place.line);
}

bool ReadScheduleFile(Session& s, const ir::Module& module) {
  const std::string& path = s.options.tuned;
  if (path.empty() || s.schedules) return true;
  std::optional<std::string> text = ReadInputFile(path, kMostScheduleBytes, s.diagnostics);
  auto schedules = text ? ReadSchedules(path, *text, s.sources, s.diagnostics) : std::nullopt;
  if (!schedules) return false;
  s.schedules = std::make_shared<ScheduleFile>(ScheduleFile{path, std::move(*schedules)});
  std::set<std::string> stale;
  for (const Schedule& one : s.schedules->schedules) {
    std::string hash = KernelHash(module, one.kernel);
    if (hash.empty() || hash == one.source || !stale.insert(one.kernel).second) continue;
    s.diagnostics.Report(diag::TunedStale, SpanOf(s, one.source_place), one.kernel)
        .Help(
            fmt::format("run `kernelc tune` again, or keep the schedule with `source: {}`", hash));
  }
  return stale.empty();
}

const Schedule* FindSchedule(const Session& s, std::string_view kernel, const std::string& level) {
  const Schedule* found = nullptr;
  int most = -1;
  if (!s.schedules) return found;
  for (const Schedule& one : s.schedules->schedules) {
    if (one.kernel != kernel || one.target != level) continue;
    int nearness = Nearness(one, s.options);
    if (nearness <= most) continue;
    found = &one;
    most = nearness;
  }
  return found;
}

std::shared_ptr<const passes::TileSelector> ScheduledSelector(Session& s,
                                                              const targets::Target& target) {
  // On inexact targets, results may depend on the sizes of tiles.
  if (!s.schedules || !target.facts->exact) return target.selector;
  return std::make_shared<const TileChoice>(s, target);
}

bool ApplySchedules(Session& s, const targets::Target& target, const std::set<Name>& kernels,
                    passes::PassSettings& settings) {
  if (!s.schedules) return true;
  for (Name kernel : kernels) {
    const std::string& level = target.facts->level;
    const Schedule* schedule = FindSchedule(s, kernel.text(), level);
    s.schedules->knew_one |= schedule != nullptr;
    if (!schedule) {
      std::string& unknown = s.schedules->unknown;
      if (unknown.empty()) unknown = fmt::format("'{}' on {}", kernel.text(), level);
      continue;
    }
    for (const auto& [pass, values] : schedule->passes) {
      if (!OptionSetter(s, target, *schedule, kernel, settings).Set(pass, values)) return false;
    }
  }
  return true;
}

void ReportUnknown(Session& s) {
  if (!s.schedules || s.schedules->path.empty() || s.schedules->knew_one) return;
  std::string_view unknown = s.schedules->unknown;
  if (unknown.empty()) unknown = "the kernels of this build";
  s.diagnostics.Report(diag::TunedElsewhere, {}, s.schedules->path, unknown)
      .Help("run `kernelc tune` with the same --target and --tuned");
}

}  // namespace kdl::driver
