#include <llvm/ADT/APInt.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/TargetParser/Triple.h>

#include <cstddef>
#include <cstdint>

#include "codegen/llvm/begin_debugging.h"
#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/type.h"
#include "kdl/kernel_abi.h"
#include "kdl/queue.h"
#include "support/names.h"
#include "support/scalar.h"

// Emits the entry point of a kernel: int32_t KERNEL(const kdl_args* args, kdl_core* core).

namespace kdl::codegen {

namespace {

void DeclareEntry(Emitter& emitter) {
  llvm::LLVMContext& context = emitter.context();
  llvm::Type* ptr = llvm::PointerType::get(context, 0);
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {ptr, ptr}, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                          emitter.code.entry, emitter.module);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->setUWTableKind(llvm::UWTableKind::Default);
  emitter.args = function->getArg(0);
  emitter.args->setName("args");
  for (unsigned i = 0; i < 2; ++i) {
    function->addParamAttr(i, llvm::Attribute::NoAlias);
    function->addParamAttr(i, llvm::Attribute::NonNull);
    // A kernel with barriers captures its argument `core`: each call stores the pointer in the core's frame
    // (kdl_core.frame), from which the kernel's coroutine reads it.
    if (i == 0 || !HasBarriers(emitter.kernel))
      function->addParamAttr(i, llvm::Attribute::NoCapture);
  }
  function->addParamAttr(0, llvm::Attribute::ReadOnly);
  emitter.function = function;
}

/// States that a loaded number is at least `least` and at most KDL_LARGEST_SIZE, which the runtime checks
/// before each launch.
void LimitRange(Emitter& emitter, llvm::Value* number, int64_t least) {
  auto limit = [](int64_t value) { return llvm::APInt(64, static_cast<uint64_t>(value)); };
  llvm::MDNode* range =
      llvm::MDBuilder(emitter.context()).createRange(limit(least), limit(KDL_LARGEST_SIZE + 1));
  llvm::cast<llvm::LoadInst>(number)->setMetadata(llvm::LLVMContext::MD_range, range);
}

void ReadCore(Emitter& emitter) {
  llvm::Value* core = PresentCore(emitter);
  core->setName("core");
  llvm::StructType* type = emitter.abi.kdl_core;
  emitter.core_id = LoadField(emitter, type, core, kdl_core_fields::core_id, "core_id");
  emitter.core_num = LoadField(emitter, type, core, kdl_core_fields::core_num, "core_num");
  LimitRange(emitter, emitter.core_id, 0);
  LimitRange(emitter, emitter.core_num, 1);
  if (emitter.scratch_plan.scratch_bytes > 0 && !emitter.core_slot)
    emitter.scratch = LoadAligned(emitter, core, kdl_core_fields::scratch, "scratch");
  llvm::Value* launch = LoadField(emitter, type, core, kdl_core_fields::launch, "launch");
  if (emitter.code.dynamic_counter_count > 0)
    emitter.dynamic_counters = LoadField(emitter, emitter.abi.kdl_launch, launch,
                                         kdl_launch_fields::dynamic_counters, "claims");
  emitter.stop = FieldAddress(emitter, emitter.abi.kdl_launch, launch, kdl_launch_fields::stop);
  emitter.trap = FieldAddress(emitter, type, core, kdl_core_fields::trap);
}

void ReadScalars(Emitter& emitter) {
  auto& builder = emitter.builder;
  llvm::Value* scalars = nullptr;
  uint64_t slot = 0;
  for (const ir::Param& param : emitter.kernel.params) {
    if (!IsScalar(param.value->type())) continue;
    if (!scalars) {
      scalars = LoadField(emitter, emitter.abi.kdl_args, emitter.args, kdl_args_fields::scalars,
                          "scalars");
    }
    Scalar scalar = param.value->type()->scalar;
    llvm::Value* address =
        builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), scalars, slot++);
    auto* load = builder.CreateLoad(MemoryType(emitter.context(), scalar), address,
                                    param.value->name().text());
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(emitter.context(), {}));
    llvm::Value* value = load;
    if (scalar == Scalar::Bool) value = builder.CreateICmpNE(load, builder.getInt8(0));
    emitter.Set(param.value, value);
  }
}

/// x86's non-temporal stores are weakly ordered, so a fence makes them visible to threads that wait for the
/// core. aarch64 orders them like other stores.
void FenceReturns(Emitter& emitter) {
  if (!emitter.stores_past_caches || !llvm::Triple(emitter.module.getTargetTriple()).isX86())
    return;
  for (llvm::BasicBlock& block : *emitter.function) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end) llvm::IRBuilder<>(end).CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
}

}  // namespace

void ReadDims(Emitter& emitter) {
  if (emitter.kernel.dims.empty()) return;
  auto& builder = emitter.builder;
  llvm::Value* dims =
      LoadField(emitter, emitter.abi.kdl_args, emitter.args, kdl_args_fields::dims, "dims");
  for (size_t i = 0; i < emitter.kernel.dims.size(); ++i) {
    Name name = emitter.kernel.dims[i];
    auto* load = builder.CreateLoad(
        builder.getInt64Ty(), builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), dims, i),
        name.text());
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(emitter.context(), {}));
    emitter.dims[name] = load;
    emitter.Set(emitter.kernel.dim_value(i), load);
  }
}

void EmitPrologue(Emitter& emitter) {
  ReadCore(emitter);
  ReadDims(emitter);
  for (const auto& [name, size] : emitter.dims) LimitRange(emitter, size, 0);
  ReadScalars(emitter);
  PrepareMemories(emitter);
  PrepareDynamicCounters(emitter);
  if (emitter.debugging.watch) emitter.debugging.watch->Begin();
  BeginStatements(emitter);
}

void EmitKernel(Emitter& emitter) {
  DeclareEntry(emitter);
  emitter.scratch_plan = PlanScratch(emitter.kernel);
  emitter.code.scratch_bytes = emitter.scratch_plan.scratch_bytes;
  emitter.code.dynamic_counter_count = CountDynamicCounters(emitter.kernel);
  auto& builder = emitter.builder;
  builder.SetInsertPoint(llvm::BasicBlock::Create(emitter.context(), "entry", emitter.function));
  BeginDebugging(emitter, std::string(emitter.kernel.base_name()));
  if (HasBarriers(emitter.kernel)) {
    emitter.code.frame_bytes = kFrameHeaderBytes + emitter.scratch_plan.frame_bytes;
    BeginStatements(emitter);
    EmitResumable(emitter);
    return FenceReturns(emitter);
  }
  EmitPrologue(emitter);
  EmitRegion(emitter, emitter.kernel.body);
  RunStages(emitter);
  Leave(emitter, builder, Ending::Done);
  FinishTraps(emitter);
  FenceReturns(emitter);
}

}  // namespace kdl::codegen
