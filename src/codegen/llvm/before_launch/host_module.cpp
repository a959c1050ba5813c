#include "codegen/llvm/before_launch/host_module.h"
#include "codegen/llvm/report_crashes.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "codegen/llvm/before_launch/image_tables.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/end_without_memory.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize/optimize.h"
#include "codegen/llvm/optimize/share_functions.h"
#include "support/check.h"

namespace kdl::codegen {

namespace {

HostFunctions Functions(llvm::Module& module, const AbiTypes& abi, Names& names, KernelCode& code) {
  DoingScope doing(
      fmt::format("making the launch functions of kernel {}", code.kernel->name.text()));
  HostFunctions functions;
  functions.check = EmitLaunchCheck(module, abi, names, code);
  functions.busy_cores = EmitBusyCores(module, abi, names, code);
  functions.shared_bytes = EmitSharedBytes(module, abi, names, code);
  return functions;
}

/// Adds to `reference` those of the device's kernels that the interpreter can run instead.
void AddReference(const Image& device, Image& reference) {
  for (ImageRow row : device.rows) {
    if (row.code->reference.empty()) continue;
    row.symbol = row.code->reference;
    row.enters = row.compiled = false;
    row.features = row.code->reference_features;
    reference.rows.push_back(std::move(row));
  }
}

}  // namespace

llvm::Function* DeclareHostFunction(Emitter& emitter, llvm::FunctionType* type,
                                    std::string_view what) {
  std::string name = fmt::format("{}.{}.{}", emitter.kernel.name.text(), emitter.code.level, what);
  auto* function =
      llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, emitter.module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  return function;
}

std::string CompileHostModule(const Backend& host, std::string_view runtime_name, Names& names,
                              std::span<CompiledModule* const> devices, const TextImage& text) {
  DoingScope doing(fmt::format("making the host's part of module {}", runtime_name));
  const EndWithoutMemory no_memory;
  const ReportCrashes crashes;
  llvm::LLVMContext context;
  auto module = host.machine().MakeModule(context, std::string(runtime_name));
  AbiTypes abi(context);
  std::vector<Image> images;
  images.reserve(devices.size() + 1);
  Image reference{text.kind, "", {}, text.kir};
  for (CompiledModule* device : devices) {
    Image& image = images.emplace_back(
        Image{device->kind, device->arch, {}, device->payload, device->packs_payload});
    for (KernelCode& code : device->kernels) {
      HostFunctions functions = Functions(*module, abi, names, code);
      bool linked = device->payload.empty();
      std::string symbol =
          linked ? fmt::format("{}.{}", code.kernel->name.text(), code.level) : code.entry;
      image.rows.push_back({&code, functions, symbol, linked, true, code.required_features});
    }
    AddReference(image, reference);
  }
  if (!text.kir.empty()) images.push_back(std::move(reference));
  AddImages(*module, runtime_name, images);
  ShareFunctions(*module);
  Optimize(&host.machine(), host.machine().opt_level(), *module, {});
  return host.machine().Emit(*module, FileType::Object);
}

}  // namespace kdl::codegen
