#include "codegen/ptx/compile.h"

#include <algorithm>
#include <optional>

#include "codegen/llvm/source_lines.h"
#include "codegen/ptx/emitter.h"
#include "ir/op_kind.h"

namespace kdl::codegen::ptx {

namespace {

constexpr std::string_view kVersion = "+ptx83";

/// The first PTX version with matrix instructions for bytes of different signedness.
constexpr std::string_view kVersionOfSigns = "+ptx84";

bool HasTwoSigns(std::string_view instruction) {
  return instruction.starts_with("wgmma") &&
         (instruction.ends_with(".s8.u8") || instruction.ends_with(".u8.s8"));
}

/// Returns the oldest PTX version that has all instructions of the kernels, since older drivers reject newer
/// versions.
std::string_view VersionOf(const KernelSource& source) {
  bool has_signs = false;
  for (const ir::Function* kernel : source.kernels) {
    ir::Walk(kernel->body, [&](const ir::Op* op) {
      if (op->kind() != ir::OpKind::Mma) return;
      std::string_view instruction = op->attr<ir::AttrKey::Instruction>().text();
      auto step =
          std::ranges::find(source.processor->steps, instruction, &StepInstruction::instruction);
      has_signs |= step != source.processor->steps.end() && HasTwoSigns(step->intrinsic);
    });
  }
  return has_signs ? kVersionOfSigns : kVersion;
}

}  // namespace

Processor ProcessorForLevel(std::string_view level) {
  Processor processor;
  processor.arch = processor.level = processor.cpu = level;
  processor.triple = "nvptx64-nvidia-cuda";
  processor.features = kVersion;
  return processor;
}

Result<CompiledModule> Compile(const KernelSource& source, const WorkgroupBytes& workgroup,
                               const CompileOptions& options) {
  Processor processor = *source.processor;
  processor.features = VersionOf(source);
  KernelSource versioned = source;
  versioned.processor = &processor;
  WorkgroupMachine machine{.file = FileType::Assembly, .emit = {}};
  std::optional<SourceLines> lines;
  machine.emit = [&](llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel,
                     Names& names, KernelCode& code) {
    PtxEmitter emitter(module, abi, kernel, code, names);
    WorkgroupLayout places(kernel, code, workgroup.of_workgroup);
    emitter.places = &places;
    emitter.of_multiprocessor = workgroup.of_multiprocessor;
    if (options.lines && !lines) lines.emplace(module, SourceLines::Form::Directives);
    emitter.debugging.lines = lines ? &*lines : nullptr;
    EmitWorkgroupKernel(emitter);
    emitter.Finish();
  };
  machine.finish = [&](llvm::Module&, const CompiledModule&) {
    if (lines) lines->Finish();
  };
  machine.write_out = WriteOutDivisions;
  return CompileWorkgroups(versioned, machine, options);
}

}  // namespace kdl::codegen::ptx
