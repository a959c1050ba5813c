#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/MDBuilder.h>

#include <string>
#include <vector>

#include "codegen/llvm/source_lines.h"
#include "codegen/llvm/workgroup/emitter.h"
#include "ir/module.h"
#include "ir/op_kind.h"
#include "ir/type.h"
#include "kdl/workgroup_abi.h"
#include "support/scalar.h"

// Sets up the parameters and memories of a kernel, as described in `include/kdl/workgroup_abi.h`.

namespace kdl::codegen {

namespace {

constexpr uint64_t kMostCores = uint64_t{1} << 62;

/// Reads the ids of the core and of the thread, and computes the address of the core's scratch. If the launch
/// calls the kernel several times, each core of the launch has its own scratch. Otherwise, only the cores of
/// the same call need separate scratch.
void ReadCore(WorkgroupEmitter& emitter) {
  auto& builder = emitter.builder;
  llvm::Value* block = emitter.FindThread();
  auto* cores = llvm::cast<llvm::LoadInst>(LaunchNumber(emitter, 0, "core_num"));
  llvm::MDBuilder metadata(emitter.context());
  cores->setMetadata(llvm::LLVMContext::MD_range,
                     metadata.createRange(llvm::APInt(64, 1), llvm::APInt(64, kMostCores)));
  emitter.core_num = cores;
  emitter.core_id = builder.CreateAdd(block, LaunchNumber(emitter, 2, "first_core"), "core_id");
  llvm::Value* owner = HasOp(emitter.kernel, ir::OpKind::Sync) ? emitter.core_id : block;
  emitter.scratch_start =
      builder.Insert(llvm::BinaryOperator::CreateMul(owner, builder.getInt64(0)));
  emitter.scratch =
      builder.CreateGEP(builder.getInt8Ty(), emitter.scratch, emitter.scratch_start, "scratch");
}

llvm::Value* DecodeScalar(WorkgroupEmitter& emitter, llvm::Value* slot, Scalar scalar) {
  auto& builder = emitter.builder;
  llvm::Type* type = RegisterType(emitter.context(), scalar);
  if (scalar == Scalar::Bool)
    return builder.CreateICmpNE(builder.CreateTrunc(slot, builder.getInt8Ty()), builder.getInt8(0));
  llvm::Value* bits = builder.CreateTrunc(slot, builder.getIntNTy(type->getScalarSizeInBits()));
  return builder.CreateBitCast(bits, type);
}

/// Reads sizes, tensors and scalars, in the order that workgroup_abi.h gives.
void ReadParams(WorkgroupEmitter& emitter, std::vector<Region>& regions) {
  auto& builder = emitter.builder;
  uint64_t at = kdl_workgroup_header;
  for (size_t i = 0; i < emitter.kernel.dims.size(); ++i) {
    Name name = emitter.kernel.dims[i];
    llvm::Value* size = LaunchNumber(emitter, at++, name.text());
    emitter.dims[name] = size;
    emitter.Set(emitter.kernel.dim_value(i), size);
  }
  unsigned number = 0;
  for (const ir::Param& param : emitter.kernel.params) {
    ir::Type type = param.value->type();
    std::string name = param.value->name().str();
    if (type->kind == ir::TypeKind::Workspace)
      continue;  // unused, since passes have turned pipes into buffers
    if (type->kind != ir::TypeKind::Tensor) {
      emitter.Set(param.value,
                  DecodeScalar(emitter, LaunchNumber(emitter, at++, name), type->scalar));
      continue;
    }
    Memory& memory = emitter.memories[param.value];
    memory.base = builder.CreateGEP(MemoryType(emitter.context(), type->scalar),
                                    emitter.TensorMemory(number++),
                                    LaunchNumber(emitter, at, name + ".first"), name);
    for (size_t d = 0; d < type->dims.size(); ++d) {
      bool last = d + 1 == type->dims.size();
      memory.strides.push_back(last ? builder.getInt64(1)
                                    : LaunchNumber(emitter, at + 1 + d, name + ".stride"));
    }
    regions.push_back({RegionKind::Tensor, &memory, param.direction == ir::Direction::In});
    at += kdl_workgroup_tensor;
  }
}

Memory BufferMemory(WorkgroupEmitter& emitter, const ir::Value* buffer,
                    const WorkgroupPlace& place) {
  auto& builder = emitter.builder;
  Memory memory{nullptr, ConstantStrides(emitter, buffer->type())};
  if (buffer->def()->HasAttr(ir::AttrKey::Swizzle))
    memory.panel = buffer->def()->attr<ir::AttrKey::Swizzle>() / Bytes(buffer->type()->scalar);
  std::string name = buffer->name().str();
  if (place.space == WorkgroupPlace::Space::Workgroup) {
    memory.base = emitter.InWorkgroupMemory(buffer);
    return memory;
  }
  llvm::Type* element = MemoryType(emitter.context(), buffer->type()->scalar);
  if (place.space == WorkgroupPlace::Space::Own) {
    auto count = static_cast<uint64_t>(SizeInBytes(buffer->type()) / Bytes(buffer->type()->scalar));
    memory.base = StackPlace(emitter, llvm::ArrayType::get(element, count), name);
    return memory;
  }
  memory.base = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), emitter.scratch,
                                                   static_cast<uint64_t>(place.offset), name);
  if (place.space == WorkgroupPlace::Space::Global) return memory;
  memory.base = builder.CreateGEP(element, memory.base, emitter.thread, name);
  llvm::Value* threads = builder.getInt64(static_cast<uint64_t>(emitter.kernel.workgroup));
  for (llvm::Value*& stride : memory.strides) stride = builder.CreateMul(stride, threads);
  return memory;
}

/// Sets up the memories of tensors, buffers, tables and views.
void PrepareWorkgroupMemories(WorkgroupEmitter& emitter) {
  auto& builder = emitter.builder;
  std::vector<Region> regions;
  ReadParams(emitter, regions);
  llvm::Value* shared = builder.CreateGEP(builder.getInt8Ty(), emitter.shared,
                                          LaunchNumber(emitter, 3, "shared_before"), "shared");
  for (LaunchTensorMemory& tensor : LaunchTensors(emitter, shared)) {
    Memory& memory = emitter.memories[tensor.tensor];
    memory = std::move(tensor.memory);
    regions.push_back({RegionKind::LaunchTensor, &memory});
  }
  auto prepare = [&](const ir::Op* op) {
    WorkgroupPlace place = emitter.places->PlaceBuffer(op->result());
    Memory& memory = emitter.memories[op->result()];
    memory = BufferMemory(emitter, op->result(), place);
    // LLVM itself analyzes accesses to workgroup memory and registers, so these need no alias scopes.
    bool global = place.space == WorkgroupPlace::Space::Global ||
                  place.space == WorkgroupPlace::Space::GlobalOwn;
    if (global) regions.push_back({RegionKind::Buffer, &memory});
  };
  // Buffers for tile copies, and those that matrix instructions read directly, must be in workgroup memory.
  // Therefore they are placed first.
  for (bool workgroup : {true, false}) {
    ir::Walk(emitter.kernel.body, [&](const ir::Op* op) {
      if (op->kind() != ir::OpKind::BufferNew) return;
      if ((op->HasAttr(ir::AttrKey::MbarrierOrdered) || op->HasAttr(ir::AttrKey::Swizzle)) ==
          workgroup)
        prepare(op);
    });
  }
  SetAliasScopes(emitter, regions);
  PrepareTablesAndViews(emitter, emitter.TableSpace());
}

bool KeepsBlocks(const ir::Function& kernel) {
  bool keeps = false;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    keeps |=
        op->kind() == ir::OpKind::BufferNew && op->result()->type()->space == ir::Space::Scratch;
  });
  return keeps;
}

}  // namespace

uint64_t CountLaunchNumbers(const ir::Function& kernel) {
  uint64_t count = kdl_workgroup_header + kernel.dims.size();
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind == ir::TypeKind::Workspace) continue;
    count += param.value->type()->kind == ir::TypeKind::Tensor ? kdl_workgroup_tensor : 1;
  }
  return count;
}

std::vector<const ir::Param*> TensorParams(const ir::Function& kernel) {
  std::vector<const ir::Param*> tensors;
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind == ir::TypeKind::Tensor) tensors.push_back(&param);
  }
  return tensors;
}

void EmitWorkgroupKernel(WorkgroupEmitter& emitter) {
  auto& builder = emitter.builder;
  emitter.keeps_blocks = KeepsBlocks(emitter.kernel);
  emitter.Declare();
  if (SourceLines* lines = emitter.debugging.lines)
    lines->Enter(*emitter.function, emitter.kernel.loc);
  builder.SetInsertPoint(NewBlock(emitter, "entry"));
  if (HasOp(emitter.kernel, ir::OpKind::Barrier) && MayTrapAlone(emitter.kernel)) {
    emitter.live = StackPlace(emitter, builder.getInt1Ty(), "live");
    builder.CreateStore(builder.getTrue(), emitter.live);
  }
  ReadCore(emitter);
  PrepareWorkgroupMemories(emitter);
  EmitRegion(emitter, emitter.kernel.body);
  builder.CreateRetVoid();
  FinishWorkgroupTraps(emitter, nullptr);
  emitter.scratch_start->setOperand(
      1, builder.getInt64(static_cast<uint64_t>(emitter.code.scratch_bytes)));
  if (HasOp(emitter.kernel, ir::OpKind::Sync)) emitter.code.resumable = emitter.code.entry;
}

llvm::Value* LaunchNumber(WorkgroupEmitter& emitter, uint64_t at, std::string_view name) {
  auto& builder = emitter.builder;
  llvm::Value* address =
      builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), emitter.launch, at);
  return builder.CreateLoad(builder.getInt64Ty(), address, name);
}

}  // namespace kdl::codegen
