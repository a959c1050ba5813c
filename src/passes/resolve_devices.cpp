#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ir/op_kind.h"
#include "kdl/own_device.h"
#include "passes/analysis/default_device.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"

// resolve-devices: assigns a device to every launch. A launch without `on` gets the only device that the file
// itself declares, or the host if it declares none. Devices of imported files, such as `lib::npu`, do not
// count. If there is only one device, all other ops also get this device.

namespace kdl::passes {

namespace {

std::string DeclaredNames(const ir::Module& module) {
  std::string text;
  for (const ir::Device& device : module.devices) {
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", device.name.text());
  }
  return text.empty() ? "none" : text;
}

/// Reports undeclared devices. Only KIR text can contain them, because the front end resolves names in
/// sources.
void CheckDeclared(PassContext& context, const ir::Op* op) {
  Name name = op->attr<ir::AttrKey::Device>();
  for (const ir::Device& device : context.module.devices) {
    if (device.name == name) return;
  }
  context.diagnostics
      .Report(diag::UndeclaredDevice, context.SpanOf(op->loc()), name.text(),
              DeclaredNames(context.module))
      .Help(fmt::format("declare it before the functions: device @{} = \"{}\"", name.text(),
                        KDL_OWN_DEVICE));
}

bool IsOwn(const ir::Device& device) {
  return device.name.text().find("::") == std::string_view::npos;
}

/// Returns whether, if there are several devices, assign-devices or insert-transfers chooses the device of
/// the op.
bool IsPlacedByUse(const ir::Op* op) {
  return op->kind() == ir::OpKind::Alloc || op->kind() == ir::OpKind::Copy ||
         op->kind() == ir::OpKind::Fill;
}

void Resolve(PassContext& context, ir::Op* op) {
  ir::Module& module = context.module;
  if (OwnDevices(module) == 0) DefaultDevice(module);
  if (IsPlacedByUse(op) && module.devices.size() > 1) return;
  if (OwnDevices(module) > 1) {
    context.diagnostics
        .Report(diag::NoDefaultDevice, context.SpanOf(op->loc()), DeclaredNames(module))
        .Help(fmt::format("write `spmd on {} …`", DefaultDevice(module).text()));
    return;
  }
  op->SetAttr(ir::MakeAttr<ir::AttrKey::Device>(DefaultDevice(module)));
}

}  // namespace

size_t OwnDevices(const ir::Module& module) {
  return static_cast<size_t>(std::ranges::count_if(module.devices, IsOwn));
}

Name DefaultDevice(ir::Module& module) {
  if (OwnDevices(module) == 0)
    module.devices.push_back({module.context().names.Intern(KDL_OWN_DEVICE), KDL_OWN_DEVICE});
  return std::ranges::find_if(module.devices, IsOwn)->name;
}

void RunResolveDevices(PassContext& context, ir::Function& program) {
  ir::Walk(program.body, [&](ir::Op* op) {
    if (!op->HasAttr(ir::AttrKey::Device)) return;
    if (!op->attr<ir::AttrKey::Device>().empty()) return CheckDeclared(context, op);
    Resolve(context, op);
  });
}

}  // namespace kdl::passes
