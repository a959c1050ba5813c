#include "targets/text_code.h"

#include "ir/builder.h"
#include "ir/print/printer.h"

namespace kdl::targets {

Result<codegen::CompiledModule> GenerateText(std::span<const TargetKernels> kernels,
                                             const codegen::CompileOptions&) {
  codegen::CompiledModule compiled;
  Result<Spec> spec = ParseSpec(kernels[0].target->spec);
  if (!spec) return spec.failure();
  compiled.kind = spec->kind;
  const ir::Module& first = *kernels[0].module;
  ir::Module all(first.context());
  all.name = first.name;
  for (const TargetKernels& one : kernels) {
    for (const ir::Function* kernel : one.kernels) {
      codegen::KernelCode& code = compiled.kernels.emplace_back();
      code.kernel = kernel;
      code.level = one.target->facts->level;
      code.entry = fmt::format("{}.{}", kernel->name.text(), code.level);
      ir::CloneFunction(*kernel, all, first.context().names.Intern(code.entry));
    }
  }
  compiled.payload = ir::Print(all, {.locs = true});
  return compiled;
}

}  // namespace kdl::targets
