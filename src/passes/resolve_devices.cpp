#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "passes/diagnostics.h"
#include "passes/passes.h"

// resolve-devices: every allocation and launch names its device. Without `on` it is the only declared one, or the host;
// those of imported files, `lib::npu`, are declared elsewhere.

namespace kdl::passes {

namespace {

std::string DeclaredNames(const ir::Module& module) {
  std::string text;
  for (const ir::Device& device : module.devices) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", device.name.text());
  }
  return text.empty() ? "none" : text;
}

/// In the language names are resolved; the text of a .kir file may name any device.
void CheckDeclared(PassContext& context, const ir::Op* op) {
  Name name = op->attr<ir::AttrKey::Device>();
  for (const ir::Device& device : context.module.devices) {
    if (device.name == name) return;
  }
  context.diagnostics
      .Report(diag::UndeclaredDevice, context.SpanOf(op->loc()), name.text(),
              DeclaredNames(context.module))
      .Help(
          fmt::format("declare it in front of the functions: device @{} = \"host\"", name.text()));
}

/// A copy runs where its tensors are.
std::string HelpFor(const ir::Module& module, const ir::Op* op) {
  std::string_view device = module.devices[0].name.text();
  switch (op->kind()) {
    case ir::OpKind::Launch:
      return fmt::format("write `spmd on {} …`", device);
    case ir::OpKind::Copy:
      return fmt::format("write `on {}` behind the type of one of its tensors", device);
    default:
      return fmt::format("write `on {}` behind it", device);
  }
}

/// The device of what does not say where; empty, after an error, where several are declared.
Name DefaultDevice(PassContext& context, const ir::Op* op) {
  ir::Module& module = context.module;
  auto is_own = [](const ir::Device& device) {
    return device.name.text().find("::") == std::string_view::npos;
  };
  auto own = std::ranges::count_if(module.devices, is_own);
  if (own == 0) module.devices.push_back({module.context().names.Intern("host"), "host"});
  if (own <= 1) return std::ranges::find_if(module.devices, is_own)->name;
  context.diagnostics
      .Report(diag::NoDefaultDevice, context.SpanOf(op->loc()), DeclaredNames(module))
      .Help(HelpFor(module, op));
  return {};
}

}  // namespace

void RunResolveDevices(PassContext& context) {
  for (ir::Function* function : context.module.functions()) {
    if (function->kind != ir::FunctionKind::Program) continue;
    ir::Walk(function->body, [&](ir::Op* op) {
      if (!op->HasAttr(ir::AttrKey::Device)) return;
      if (!op->attr<ir::AttrKey::Device>().empty()) return CheckDeclared(context, op);
      op->SetAttr(ir::MakeAttr<ir::AttrKey::Device>(DefaultDevice(context, op)));
    });
  }
}

}  // namespace kdl::passes
