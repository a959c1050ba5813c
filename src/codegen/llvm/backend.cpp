#include "codegen/llvm/backend.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "codegen/llvm/machine.h"
#include "codegen/llvm/optimize/exact_compares.h"
#include "codegen/llvm/optimize/negated_fma.h"
#include "codegen/llvm/optimize/split_blocks.h"
#include "support/check.h"
#include "support/result.h"

extern "C" {
// Functions in libLLVM that initialize the targets that a Processor can name.
void LLVMInitializeX86TargetInfo();
void LLVMInitializeX86Target();
void LLVMInitializeX86TargetMC();
void LLVMInitializeX86AsmPrinter();
void LLVMInitializeAArch64TargetInfo();
void LLVMInitializeAArch64Target();
void LLVMInitializeAArch64TargetMC();
void LLVMInitializeAArch64AsmPrinter();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeRISCVTargetInfo();
void LLVMInitializeRISCVTarget();
void LLVMInitializeRISCVTargetMC();
void LLVMInitializeRISCVAsmPrinter();
}

namespace kdl::codegen {

namespace {

/// Sets one of LLVM's command-line options, and its default, to which lld resets it (link_shared.h). Some
/// settings of LLVM have no other interface.
template <typename T>
void SetFlag(llvm::StringRef name, T value) {
  auto& known = llvm::cl::getRegisteredOptions();
  auto found = known.find(name);
  KDL_CHECK(found != known.end(), "LLVM has no option {}", name.str());
  static_cast<llvm::cl::opt<T>*>(found->second)->setInitialValue(value);
}

void InitializeTargets() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTarget();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVAsmPrinter();
  // NVIDIA's shared memory has 32-bit addresses, which need half as many registers as 64-bit ones.
  SetFlag("nvptx-short-ptr", true);
  // The emitter already represents masks as vectors of bools. LLVM's search for more masks among scalars took
  // 5% of the compilation time and found none.
  SetFlag("disable-x86-domain-reassignment", true);
  // To keep a value in a register in a part of a function, LLVM looks for that part, block by block. In kernels with
  // many loops, most of the time of register allocation went into parts of more than 100 blocks.
  SetFlag("grow-region-complexity-budget", 100U);
  // For AArch64, LLVM 19 turns conversions to and from bytes in loops into lookups in tables. It crashes when it then
  // combines two lookups by a shuffle with lanes that nobody needs, such as the first two of three channels
  // (https://github.com/llvm/llvm-project/issues/135950 is a crash in the same function).
  SetFlag("aarch64-enable-ext-to-tbl", false);
}

/// Disables loop strength reduction on x86, where one address can add a register, a scaled register and a
/// constant. Loop strength reduction would advance pointers instead, which needs more code and took a quarter
/// of the compilation time. Only short functions use it (optimize.cpp).
void ChooseStrengthReduction(const llvm::Triple& triple) { SetFlag("disable-lsr", triple.isX86()); }

llvm::CodeGenOptLevel CodeGenLevel(int opt_level) {
  static constexpr llvm::CodeGenOptLevel kLevels[] = {
      llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less, llvm::CodeGenOptLevel::Default,
      llvm::CodeGenOptLevel::Aggressive};
  KDL_CHECK(opt_level >= 0 && opt_level <= 3, "unknown optimization level {}", opt_level);
  return kLevels[opt_level];
}

/// Adds LLVM's passes for code generation, as `addPassesToEmitFile` does, and our own in their midst. Returns
/// whether LLVM has them.
bool AddCodeGeneration(llvm::legacy::PassManager& passes, llvm::TargetMachine& target,
                       llvm::raw_pwrite_stream& stream, llvm::CodeGenFileType type) {
  auto& machine = static_cast<llvm::LLVMTargetMachine&>(target);
  auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  bool prepares = config->getOptLevel() != llvm::CodeGenOptLevel::None;
  if (prepares) {
    const std::unique_ptr<llvm::Pass> prepare(llvm::createCodeGenPrepareLegacyPass());
    config->insertPass(prepare->getPassID(), MakeSplitBlocks());
  }
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(passes, stream, nullptr, type, info->getMMI().getContext()))
    return false;
  passes.add(llvm::createFreeMachineFunctionPass());
  return true;
}

/// Returns LLVM's target for a triple.
Result<const llvm::Target*> FindTarget(const std::string& triple) {
  static const bool initialized = (InitializeTargets(), true);
  KDL_CHECK(initialized);
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target) return target;
  return Failure{"LLVM cannot make code for " + triple + ": " + error, FailureKind::Environment};
}

}  // namespace

Status CheckProcessor(const Processor& processor) {
  Result<const llvm::Target*> target = FindTarget(processor.triple);
  if (!target) return target.failure();
  auto fail = [&](std::string_view what, llvm::StringRef name) {
    return Failure{
        fmt::format("LLVM does not know the {} '{}' of {}", what, name.str(), processor.triple),
        FailureKind::User};
  };
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      (*target)->createMCSubtargetInfo(processor.triple, "", ""));
  if (!processor.cpu.empty() && !known->isCPUStringValid(processor.cpu))
    return fail("processor", processor.cpu);
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(processor.features).split(features, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef feature : features) {
    bool has_sign = feature.starts_with("+") || feature.starts_with("-");
    auto is_it = [&](const llvm::SubtargetFeatureKV& one) {
      return has_sign && feature.drop_front() == one.Key;
    };
    if (llvm::none_of(known->getAllProcessorFeatures(), is_it)) return fail("feature", feature);
  }
  const llvm::Triple triple(processor.triple);
  if (!triple.isRISCV()) return {};
  known.reset(
      (*target)->createMCSubtargetInfo(processor.triple, processor.cpu, processor.features));
  if (known->checkFeatures("+64bit") != triple.isRISCV64())
    return fail(triple.isRISCV64() ? "64-bit processor" : "32-bit processor", processor.cpu);
  return {};
}

bool HasRiscvVectors(const Processor& processor) {
  if (!llvm::Triple(processor.triple).isRISCV() || !CheckProcessor(processor).ok())
    return ("," + processor.features + ",").find(",+v,") != std::string::npos;
  const llvm::Target* target = *FindTarget(processor.triple);
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(processor.triple, processor.cpu, processor.features));
  return known->checkFeatures("+v");
}

Result<Backend> Backend::Create(const Processor& processor, int opt_level) {
  if (Status checked = CheckProcessor(processor); !checked) return checked.failure();
  const llvm::Target* target = *FindTarget(processor.triple);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // Aligns loops to cache lines. On Zen 3, a loop of a few cache lines takes up to 1.7 times as long if it
  // does not begin at the start of a line.
  constexpr unsigned kLineBytes = 64;
  if (opt_level > 1 && llvm::Triple(processor.triple).isX86()) options.LoopAlignment = kLineBytes;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      processor.triple, processor.cpu, processor.features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, CodeGenLevel(opt_level)));
  KDL_CHECK(machine, "LLVM cannot create a target machine for {} {}", processor.triple,
            processor.cpu);
  return Backend(processor, std::make_unique<Machine>(std::move(machine), opt_level));
}

Backend::Backend(Processor processor, std::unique_ptr<Machine> machine)
    : processor_(std::move(processor)), machine_(std::move(machine)) {}
Backend::Backend(Backend&&) noexcept = default;
Backend& Backend::operator=(Backend&&) noexcept = default;
Backend::~Backend() = default;

std::unique_ptr<llvm::Module> Machine::MakeModule(llvm::LLVMContext& context,
                                                  const std::string& name) const {
  auto module = std::make_unique<llvm::Module>(name, context);
  module->setTargetTriple(target_machine_->getTargetTriple().str());
  module->setDataLayout(target_machine_->createDataLayout());
  module->setPICLevel(llvm::PICLevel::BigPIC);
  return module;
}

std::string Machine::Emit(llvm::Module& module, FileType type) const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  ChooseStrengthReduction(target_machine_->getTargetTriple());
  ForbidMinMaxNumber(*target_machine_, module);
  if (target_machine_->getTargetTriple().isX86()) HideNumbers(*target_machine_, module);
  if (target_machine_->getTargetTriple().isAArch64()) HideFmaResults(module);
  bool added = AddCodeGeneration(passes, *target_machine_, stream,
                                 type == FileType::Object ? llvm::CodeGenFileType::ObjectFile
                                                          : llvm::CodeGenFileType::AssemblyFile);
  KDL_CHECK(added, "LLVM cannot emit a file of this kind for {}",
            target_machine_->getTargetTriple().str());
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}

}  // namespace kdl::codegen
