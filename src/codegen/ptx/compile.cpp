#include "codegen/ptx/compile.h"

#include <optional>

#include "codegen/llvm/source_lines.h"
#include "codegen/ptx/emitter.h"

namespace kdl::codegen::ptx {

Processor ProcessorOf(std::string_view level) {
  Processor processor;
  processor.arch = processor.level = processor.cpu = level;
  processor.triple = "nvptx64-nvidia-cuda";
  processor.features = "+ptx83";
  return processor;
}

Result<CompiledModule> Compile(const KernelSource& source, int64_t near_bytes,
                               const CompileOptions& options) {
  TeamMachine machine{.file = FileType::Assembly, .emit = {}};
  std::optional<SourceLines> lines;
  machine.emit = [&](llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel,
                     Names& names, KernelCode& code) {
    PtxEmitter emitter(module, abi, kernel, code, names);
    TeamMemory places(kernel, code, near_bytes);
    emitter.places = &places;
    emitter.most_near = near_bytes;
    if (options.lines && !lines) lines.emplace(module, SourceLines::Form::Directives);
    emitter.lines = lines ? &*lines : nullptr;
    EmitTeamKernel(emitter);
    emitter.Finish();
  };
  machine.finish = [&](llvm::Module&, const CompiledModule&) {
    if (lines) lines->Finish();
  };
  return CompileTeams(source, machine, options);
}

}  // namespace kdl::codegen::ptx
