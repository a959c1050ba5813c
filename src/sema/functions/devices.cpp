#include "sema/functions/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "support/near_names.h"
#include "support/rank_limit.h"

namespace kdl::sema {

namespace {

constexpr uint64_t kMaxOrdinal = 1'000'000;

using syntax::CallExpr;
using syntax::Expr;

/// The context in which a device is checked.
struct AtFile {
  ModuleState& module;
  const FileState& file;  ///< the file whose names the device's description may use
};

void ReportForm(AtFile& place, const Expr* expr) {
  place.module.diagnostics
      .Report(diag::DeviceForm, expr->span, place.module.sources.text(expr->span))
      .Help("write target(\"host\"), select(a, b), fallback(a), ranks() or the name of a device");
}

const Entity* FindDevice(AtFile& place, const syntax::NameExpr& name) {
  auto found = place.file.items.find(name.name);
  if (found != place.file.items.end() && found->second->kind == EntityKind::Device) {
    return found->second;
  }
  if (found == place.file.items.end()) {
    Diagnostic& report =
        place.module.diagnostics.Report(diag::UnknownName, name.span, name.name.text());
    std::vector<std::string_view> devices;
    for (const auto& [known, entity] : place.file.items)
      if (entity->kind == EntityKind::Device) devices.push_back(known.text());
    std::ranges::sort(devices);
    std::string_view near = NearestName(name.name.text(), devices);
    if (!near.empty()) report.Help(fmt::format("did you mean '{}'?", near));
  } else {
    place.module.diagnostics.Report(diag::NotADevice, name.span, name.name.text(),
                                    Describe(found->second->kind));
  }
  return nullptr;
}

/// Returns the value of an option as it is written: a string, a number or a bool.
std::string OptionValue(const AtFile& place, const Expr* value) {
  const auto* text = syntax::DynAs<syntax::StringLit>(value);
  return text != nullptr ? text->value : std::string(place.module.sources.text(value->span));
}

DeviceSpec ReadTarget(AtFile& place, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Target;
  const auto* kind = call.args.empty() || call.args[0].name
                         ? nullptr
                         : syntax::DynAs<syntax::StringLit>(call.args[0].value);
  if (kind == nullptr) {
    place.module.diagnostics.Report(diag::TargetWithoutKind, call.span)
        .Help("name its kind: target(\"host\")");
    return spec;
  }
  spec.target = kind->value;
  for (size_t i = 1; i < call.args.size(); ++i) {
    const syntax::Arg& arg = call.args[i];
    if (!arg.name) {
      place.module.diagnostics.Report(diag::TargetOption, arg.span);
      continue;
    }
    spec.options.push_back({arg.name.name, OptionValue(place, arg.value)});
  }
  return spec;
}

DeviceSpec ReadSpec(AtFile& place, const Expr* expr);

DeviceSpec ReadSelect(AtFile& place, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Select;
  if (call.args.empty()) ReportForm(place, &call);
  for (const syntax::Arg& arg : call.args) spec.alternatives.push_back(ReadSpec(place, arg.value));
  return spec;
}

DeviceSpec ReadFallback(AtFile& place, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Fallback;
  const auto* name =
      call.args.size() == 1 ? syntax::DynAs<syntax::NameExpr>(call.args[0].value) : nullptr;
  if (name == nullptr) {
    ReportForm(place, &call);
  } else {
    spec.of = FindDevice(place, *name);
  }
  return spec;
}

/// `ranks()` describes a whole device: it is not an alternative among others.
DeviceSpec ReadRanks(AtFile& place, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Ranks;
  bool is_shape = true;
  for (const syntax::Arg& arg : call.args) {
    const auto* count = arg.name ? nullptr : syntax::DynAs<syntax::IntLit>(arg.value);
    is_shape = is_shape && count != nullptr && count->value <= kMostRanks;
    spec.shape.push_back(is_shape ? static_cast<int64_t>(count->value) : 1);
  }
  if (call.args.empty() || (is_shape && IsRankShape(spec.shape))) return spec;
  place.module.diagnostics.Report(diag::RanksShape, call.span, kMostRanks)
      .Help(
          "write `ranks(2, 4)` for a grid of 2 by 4 ranks, or `ranks()` to choose their number "
          "when you run the program");
  spec.shape.assign(call.args.size(), 1);
  return spec;
}

DeviceSpec ReadOrdinal(AtFile& place, const syntax::IndexExpr& index) {
  DeviceSpec spec = ReadSpec(place, index.base);
  const auto* ordinal =
      index.indices.size() == 1 && !index.indices[0].name && index.indices[0].hi == nullptr
          ? syntax::DynAs<syntax::IntLit>(index.indices[0].value)
          : nullptr;
  if (ordinal == nullptr || ordinal->value > kMaxOrdinal || spec.form != DeviceForm::Target) {
    ReportForm(place, &index);
  } else {
    spec.ordinal = static_cast<uint32_t>(ordinal->value);
  }
  return spec;
}

DeviceSpec ReadSpec(AtFile& place, const Expr* expr) {
  if (const auto* index = syntax::DynAs<syntax::IndexExpr>(expr)) {
    return ReadOrdinal(place, *index);
  }
  if (const auto* name = syntax::DynAs<syntax::NameExpr>(expr)) {
    DeviceSpec spec;
    spec.form = DeviceForm::Alias;
    spec.of = FindDevice(place, *name);
    return spec;
  }
  const auto* call = syntax::DynAs<CallExpr>(expr);
  std::string_view callee =
      call != nullptr && call->receiver == nullptr ? call->callee.name.text() : "";
  if (callee == "target") return ReadTarget(place, *call);
  if (callee == "select") return ReadSelect(place, *call);
  if (callee == "fallback") return ReadFallback(place, *call);
  if (callee == "ranks") {
    place.module.diagnostics
        .Report(diag::RanksUnsupported, expr->span, "`ranks()` as one of several devices")
        .Help("declare a device of its own: `device grid = ranks();`");
    return {};
  }
  ReportForm(place, expr);
  return {};
}

/// Returns whether the device description leads to `device` through aliases and alternatives.
bool Reaches(const DeviceSpec& spec, const Entity* device,
             std::unordered_set<const Entity*>& visited) {
  if (spec.of == device) return true;
  if (spec.of != nullptr && visited.insert(spec.of).second &&
      Reaches(spec.of->device, device, visited)) {
    return true;
  }
  for (const DeviceSpec& alternative : spec.alternatives) {
    if (Reaches(alternative, device, visited)) return true;
  }
  return false;
}

}  // namespace

void CheckDevice(ModuleState& module, const FileState& file, const syntax::DeviceItem& item,
                 Entity& entity) {
  entity.prefix = file.prefix;
  if (item.value == nullptr) return;
  AtFile place{module, file};
  const auto* call = syntax::DynAs<CallExpr>(item.value);
  bool has_ranks = call && call->receiver == nullptr && call->callee.name.text() == "ranks";
  entity.device = has_ranks ? ReadRanks(place, *call) : ReadSpec(place, item.value);
  std::unordered_set<const Entity*> visited;
  if (Reaches(entity.device, &entity, visited)) {
    module.diagnostics.Report(diag::DeviceCycle, item.span, entity.name.text());
    entity.device = {};
  }
}

const Entity* OnlyDevice(const FileState& file) {
  const Entity* only = nullptr;
  for (const auto& [name, item] : file.items) {
    if (item->kind != EntityKind::Device) continue;
    if (only != nullptr) return nullptr;
    only = item;
  }
  return only;
}

}  // namespace kdl::sema
