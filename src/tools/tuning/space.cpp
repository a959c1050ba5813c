#include "tools/tuning/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/schedules/kernel_hash.h"
#include "ir/print/printer.h"
#include "tools/explain/decide_targets.h"
#include "tools/timing/selected_tiles.h"

namespace kdl::tools {

namespace {

/// Returns the name of the dimension of a pipeline file's parameter.
std::string ParameterName(const std::string& parameter) { return "$" + parameter; }

}  // namespace

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string FirstError(const DiagnosticEngine& diagnostics) {
  for (const auto& one : diagnostics.all()) {
    if (one->severity == Severity::Error) return FirstLine(one->text);
  }
  return "it does not run";
}

Space::Space(const driver::Options& options, const targets::Registry& families, std::string kernel,
             const std::string& spec)
    : options_(options), families_(&families), kernel_(std::move(kernel)) {
  options_.kernel = kernel_;
  options_.target = {spec};
  options_.device.clear();
}

std::optional<Space> Space::Find(const driver::Options& options, const targets::Registry& families,
                                 const std::string& kernel, const std::string& spec, int threads,
                                 DiagnosticEngine& diagnostics) {
  Space space(options, families, kernel, spec);
  driver::Session session(space.options_, families);
  driver::Compilation ir = driver::Compile(session, {.until = driver::Until::Ir});
  if (ir.ok()) space.source_ = driver::KernelHash(*ir.module, kernel);
  std::vector<SelectedTiles> tiles = SelectTilesOf(session).value_or(std::vector<SelectedTiles>());
  driver::Compilation made = DecideTargets(session, {}, driver::Until::Loops);
  space.start_ = space.LoweredFrom(session, made);
  const driver::TargetCode* code = space.CodeIn(made);
  if (!code) {
    diagnostics.Report(driver::diag::MachineFailed, {}, space.start_.failure);
    return std::nullopt;
  }
  space.level_ = code->target.facts->level;
  auto found = std::ranges::find_if(tiles, [&](const SelectedTiles& one) {
    return one.kernel == kernel && one.level == space.level_;
  });
  if (found != tiles.end()) {
    space.selector_ = found->chosen;
    for (const TunedConstant& one : found->constants) {
      if (!code->target.facts->exact) break;  // results may depend on tiles
      space.dimensions_.push_back({.name = one.name,
                                   .start = found->chosen.at(one.name),
                                   .multiple = one.multiple,
                                   .choices = one.choices});
    }
  }
  space.AddOptions(*code, threads);
  if (session.pipeline) {
    for (const auto& [name, value] : session.pipeline->parameters())
      space.dimensions_.push_back({.name = ParameterName(name),
                                   .kind = Dimension::Kind::Parameter,
                                   .start = value,
                                   .least = 0,
                                   .most = INT64_MAX / 2});
  }
  return space;
}

const driver::TargetCode* Space::CodeIn(const driver::Compilation& made) const {
  for (const driver::TargetCode& one : made.code.targets) {
    bool has = std::ranges::any_of(one.kernels, [&](Name name) { return name.text() == kernel_; });
    if (has) return &one;
  }
  return nullptr;
}

void Space::AddOptions(const driver::TargetCode& code, int threads) {
  for (passes::Pipeline list : code.lists) {
    for (const passes::Pass* pass : list) {
      for (const passes::PassOption* option : pass->options) {
        if (option->counts_cores && threads <= 1) continue;
        std::string name = fmt::format("{}.{}", pass->name, option->name);
        Dimension one{.name = name,
                      .kind = Dimension::Kind::Option,
                      .start = start_.options.at(name),
                      .least = option->least,
                      .most = option->most};
        if (option->counts_cores) one.most = std::min<int64_t>(one.most, threads);
        one.start = std::min(one.start, one.most);
        dimensions_.push_back(std::move(one));
      }
    }
  }
}

LoweredKernel Space::LoweredFrom(driver::Session& session, const driver::Compilation& made) const {
  LoweredKernel lowered;
  const driver::TargetCode* code = CodeIn(made);
  if (!made.ok() || !code) {
    lowered.failure = FirstError(session.diagnostics);
    return lowered;
  }
  lowered.code = ir::Print(*code->module);
  Name kernel = session.names.Intern(kernel_);
  for (passes::Pipeline list : code->lists) {
    for (const passes::Pass* pass : list) {
      for (const passes::PassOption* option : pass->options)
        lowered.options[fmt::format("{}.{}", pass->name, option->name)] =
            code->settings.ValueFor(kernel, *option).value;
    }
  }
  return lowered;
}

driver::Options Space::OptionsFor(driver::Options options, const Choice& choice) const {
  for (const Dimension& one : dimensions_) {
    if (one.kind != Dimension::Kind::Parameter || choice.at(one.name) == one.start) continue;
    char sign = options.pipeline.find('?') == std::string::npos ? '?' : '&';
    options.pipeline +=
        fmt::format("{}{}={}", sign, std::string_view(one.name).substr(1), choice.at(one.name));
  }
  return options;
}

std::shared_ptr<driver::ScheduleFile> Space::ScheduleFor(const Choice& choice) const {
  driver::Schedule schedule;
  schedule.kernel = kernel_;
  schedule.source = source_;
  schedule.target = level_;
  for (const Dimension& one : dimensions_) {
    int64_t value = choice.at(one.name);
    if (one.kind == Dimension::Kind::Tile) schedule.tiles[one.name] = value;
    if (one.kind != Dimension::Kind::Option || value == one.start) continue;
    size_t dot = one.name.find('.');
    schedule.passes[one.name.substr(0, dot)][one.name.substr(dot + 1)] = value;
  }
  return std::make_shared<driver::ScheduleFile>(driver::ScheduleFile{"", {std::move(schedule)}});
}

LoweredKernel Space::Lower(const Choice& choice) const {
  driver::Options options = OptionsFor(options_, choice);
  driver::Session session(options, *families_);
  session.schedules = ScheduleFor(choice);
  driver::Compilation made = DecideTargets(session, {}, driver::Until::Loops);
  return LoweredFrom(session, made);
}

std::string Space::ChangesText(const Choice& choice) const {
  driver::Tiles changes;
  for (const Dimension& one : dimensions_) {
    if (choice.at(one.name) != one.start) changes[one.name] = choice.at(one.name);
  }
  return driver::TilesText(changes);
}

}  // namespace kdl::tools
