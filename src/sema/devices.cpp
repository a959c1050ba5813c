#include "sema/devices.h"

#include <fmt/format.h>

#include <string>
#include <unordered_set>

namespace kdl::sema {

namespace {

constexpr uint64_t kMaxOrdinal = 1'000'000;

using syntax::CallExpr;
using syntax::Expr;

void ReportForm(ModuleState& module, const Expr* expr) {
  module.diagnostics.Report(diag::DeviceForm, expr->span, module.sources.text(expr->span))
      .Help("write target(\"host\"), select(a, b), fallback(a) or the name of a device");
}

const Entity* FindDevice(ModuleState& module, const syntax::NameExpr& name) {
  auto found = module.file->items.find(name.name);
  if (found != module.file->items.end() && found->second->kind == EntityKind::Device) {
    return found->second;
  }
  if (found == module.file->items.end()) {
    module.diagnostics.Report(diag::UnknownName, name.span, name.name.text());
  } else {
    module.diagnostics.Report(diag::NotADevice, name.span, name.name.text(),
                              Describe(found->second->kind));
  }
  return nullptr;
}

/// A text, a number or a bool, as it is written.
std::string OptionValue(const ModuleState& module, const Expr* value) {
  const auto* text = syntax::DynAs<syntax::StringLit>(value);
  return text != nullptr ? text->value : std::string(module.sources.text(value->span));
}

DeviceSpec ReadTarget(ModuleState& module, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Target;
  const auto* kind = call.args.empty() || call.args[0].name
                         ? nullptr
                         : syntax::DynAs<syntax::StringLit>(call.args[0].value);
  if (kind == nullptr) {
    module.diagnostics.Report(diag::TargetWithoutKind, call.span)
        .Help("name what it is: target(\"host\")");
    return spec;
  }
  spec.target = kind->value;
  for (size_t i = 1; i < call.args.size(); ++i) {
    const syntax::Arg& arg = call.args[i];
    if (!arg.name) {
      module.diagnostics.Report(diag::TargetOption, arg.span);
      continue;
    }
    spec.options.push_back({arg.name.name, OptionValue(module, arg.value)});
  }
  return spec;
}

DeviceSpec ReadSpec(ModuleState& module, const Expr* expr);

DeviceSpec ReadSelect(ModuleState& module, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Select;
  if (call.args.empty()) ReportForm(module, &call);
  for (const syntax::Arg& arg : call.args) spec.alternatives.push_back(ReadSpec(module, arg.value));
  return spec;
}

DeviceSpec ReadFallback(ModuleState& module, const CallExpr& call) {
  DeviceSpec spec;
  spec.form = DeviceForm::Fallback;
  const auto* name =
      call.args.size() == 1 ? syntax::DynAs<syntax::NameExpr>(call.args[0].value) : nullptr;
  if (name == nullptr) {
    ReportForm(module, &call);
  } else {
    spec.of = FindDevice(module, *name);
  }
  return spec;
}

DeviceSpec ReadOrdinal(ModuleState& module, const syntax::IndexExpr& index) {
  DeviceSpec spec = ReadSpec(module, index.base);
  const auto* ordinal = index.indices.size() == 1 && !index.indices[0].name
                            ? syntax::DynAs<syntax::IntLit>(index.indices[0].value)
                            : nullptr;
  if (ordinal == nullptr || ordinal->value > kMaxOrdinal || spec.form != DeviceForm::Target) {
    ReportForm(module, &index);
  } else {
    spec.ordinal = static_cast<uint32_t>(ordinal->value);
  }
  return spec;
}

DeviceSpec ReadSpec(ModuleState& module, const Expr* expr) {
  if (const auto* index = syntax::DynAs<syntax::IndexExpr>(expr)) {
    return ReadOrdinal(module, *index);
  }
  if (const auto* name = syntax::DynAs<syntax::NameExpr>(expr)) {
    DeviceSpec spec;
    spec.form = DeviceForm::Alias;
    spec.of = FindDevice(module, *name);
    return spec;
  }
  const auto* call = syntax::DynAs<CallExpr>(expr);
  std::string_view callee =
      call != nullptr && call->receiver == nullptr ? call->callee.name.text() : "";
  if (callee == "target") return ReadTarget(module, *call);
  if (callee == "select") return ReadSelect(module, *call);
  if (callee == "fallback") return ReadFallback(module, *call);
  ReportForm(module, expr);
  return {};
}

/// Whether a device is said to be the same as `device`, over others that have been read.
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

void CheckDevice(ModuleState& module, const syntax::DeviceItem& item, Entity& entity) {
  if (item.value == nullptr) return;
  entity.device = ReadSpec(module, item.value);
  std::unordered_set<const Entity*> visited;
  if (Reaches(entity.device, &entity, visited)) {
    module.diagnostics.Report(diag::DeviceCycle, item.span, entity.name.text());
    entity.device = {};
  }
}

}  // namespace kdl::sema
