#include "codegen/cluster/compile.h"

#include <optional>
#include <vector>

#include "codegen/cluster/emitter.h"
#include "codegen/llvm/backend.h"
#include "codegen/llvm/source_lines.h"

namespace kdl::codegen::cluster {

namespace {

/// The number of scratchpad bytes of each kernel.
using ScratchpadBytes = std::vector<int64_t>;

/// Adds the table of `kdl_cluster_entry` rows, with a row of nulls at the end.
void AddEntries(llvm::Module& module, const CompiledModule& compiled,
                const ScratchpadBytes& scratchpads) {
  llvm::LLVMContext& context = module.getContext();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* number = llvm::Type::getInt64Ty(context);
  auto* row = llvm::StructType::get(context, {pointer, pointer, number, number});
  llvm::IRBuilder<> builder(context);
  std::vector<llvm::Constant*> rows;
  for (size_t i = 0; i < compiled.kernels.size(); ++i) {
    const KernelCode& code = compiled.kernels[i];
    llvm::Constant* name = builder.CreateGlobalString(code.entry, "name", 0, &module);
    auto threads = static_cast<uint64_t>(code.kernel->workgroup);
    rows.push_back(llvm::ConstantStruct::get(
        row, {name, module.getFunction(code.entry), llvm::ConstantInt::get(number, threads),
              llvm::ConstantInt::get(number, static_cast<uint64_t>(scratchpads[i]))}));
  }
  rows.push_back(llvm::Constant::getNullValue(row));
  auto* type = llvm::ArrayType::get(row, rows.size());
  auto* table =
      llvm::cast<llvm::GlobalVariable>(module.getOrInsertGlobal("kdl_cluster_entries", type));
  table->setConstant(true);
  table->setInitializer(llvm::ConstantArray::get(type, rows));
}

}  // namespace

Result<CompiledModule> Compile(const KernelSource& source, int64_t scratchpad_bytes,
                               const std::string& layout, const CompileOptions& options) {
  ScratchpadBytes scratchpads;
  std::optional<SourceLines> lines;
  WorkgroupMachine machine{.file = FileType::Object,
                           .layout = layout,
                           .has_vectors = HasRiscvVectors(*source.processor),
                           .emit = {}};
  machine.emit = [&](llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel,
                     Names& names, KernelCode& code) {
    ClusterEmitter emitter(module, abi, kernel, code, names);
    WorkgroupLayout places(kernel, code, scratchpad_bytes);
    emitter.places = &places;
    emitter.debugging.lines = lines ? &*lines : &lines.emplace(module);
    EmitWorkgroupKernel(emitter);
    scratchpads.push_back(emitter.scratchpad_bytes);
  };
  machine.finish = [&](llvm::Module& module, const CompiledModule& compiled) {
    AddEntries(module, compiled, scratchpads);
    if (lines) lines->Finish();
  };
  return CompileWorkgroups(source, machine, options);
}

}  // namespace kdl::codegen::cluster
