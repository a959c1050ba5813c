#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/llvm/emitter.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_kind.h"
#include "ir/ring.h"
#include "ir/tensor_view.h"
#include "ir/type.h"
#include "kdl/kernel_abi.h"

// Determines where a kernel's memory is, and which parts of it may overlap.

namespace kdl::codegen {

namespace {

llvm::Value* StackMemory(Emitter& emitter, const BufferPlace& place, Name name) {
  auto* type =
      llvm::ArrayType::get(emitter.builder.getInt8Ty(), static_cast<uint64_t>(place.bytes));
  llvm::AllocaInst* alloca = StackPlace(emitter, type, name.text());
  alloca->setAlignment(llvm::Align(llvm::bit_ceil(
      static_cast<uint64_t>(std::clamp<int64_t>(place.bytes, 1, KDL_SCRATCH_ALIGNMENT)))));
  return alloca;
}

Memory BufferMemory(Emitter& emitter, const ir::Value* buffer) {
  auto& builder = emitter.builder;
  const BufferPlace& place = emitter.scratch_plan.places.at(buffer);
  Memory memory;
  llvm::Value* around = place.space == BufferSpace::Frame ? emitter.frame : emitter.scratch;
  int64_t before = place.space == BufferSpace::Frame ? kFrameHeaderBytes : 0;
  if (place.space == BufferSpace::Stack) {
    memory.base = StackMemory(emitter, place, buffer->name());
  } else if (around) {  // otherwise EmitBufferNew sets the base
    memory.base = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), around,
                                                     static_cast<uint64_t>(before + place.offset),
                                                     std::string_view(buffer->name().text()));
  }
  memory.strides = ConstantStrides(emitter, buffer->type());
  return memory;
}

/// Returns a constant that contains the table's elements. Tables with equal elements share one constant.
llvm::Constant* TableGlobal(Emitter& emitter, const ir::Op* table, unsigned space) {
  ir::ElementBits elements = table->attr<ir::AttrKey::Elements>();
  Scalar scalar = table->result()->type()->scalar;
  llvm::Type* unit = MemoryType(emitter.context(), scalar);
  std::vector<llvm::Constant*> made;
  for (uint64_t bits : elements) {
    llvm::APInt pattern(unit->getScalarSizeInBits(), bits);
    made.push_back(
        unit->isIntegerTy()
            ? llvm::ConstantInt::get(unit, pattern)
            : llvm::ConstantFP::get(unit, llvm::APFloat(unit->getFltSemantics(), pattern)));
  }
  llvm::Constant* value = llvm::ConstantArray::get(llvm::ArrayType::get(unit, made.size()), made);
  for (llvm::GlobalVariable& global : emitter.module.globals()) {
    if (global.isConstant() && global.hasPrivateLinkage() && global.getInitializer() == value)
      return &global;
  }
  // The prefix avoids clashes: a name from the source may equal that of an entry point, or be reserved in
  // PTX, such as WARP_SZ.
  auto* global = new llvm::GlobalVariable(emitter.module, value->getType(), /*isConstant=*/true,
                                          llvm::GlobalValue::PrivateLinkage, value,
                                          "table_" + table->attr<ir::AttrKey::Name>().str(),
                                          nullptr, llvm::GlobalValue::NotThreadLocal, space);
  global->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  global->setAlignment(llvm::Align(KDL_SCRATCH_ALIGNMENT));
  return global;
}

Memory TableMemory(Emitter& emitter, const ir::Op* table, unsigned space) {
  Memory memory;
  memory.base = TableGlobal(emitter, table, space);
  memory.strides = ConstantStrides(emitter, table->result()->type());
  return memory;
}

RingMemory RingMemoryOf(Emitter& emitter, const ir::Op* pipe) {
  RingMemory memory{ir::RingOf(pipe), nullptr, {}};
  memory.slots.strides = ConstantStrides(emitter, pipe->result()->type());
  return memory;
}

Memory TensorMemory(Emitter& emitter, llvm::Value* tensor, const ir::Param& param) {
  auto& builder = emitter.builder;
  std::string name = param.value->name().str();
  Memory memory;
  memory.base =
      LoadField(emitter, emitter.abi.kdl_tensor, tensor, kdl_tensor_fields::data, name.c_str());
  llvm::Value* strides =
      FieldAddress(emitter, emitter.abi.kdl_tensor, tensor, kdl_tensor_fields::stride);
  size_t rank = param.value->type()->dims.size();
  for (size_t d = 0; d < rank; ++d) {
    if (d + 1 == rank) {
      memory.strides.push_back(builder.getInt64(1));
      continue;
    }
    auto* address = builder.CreateConstInBoundsGEP1_64(builder.getInt64Ty(), strides, d);
    auto* load = builder.CreateLoad(builder.getInt64Ty(), address, name + ".stride");
    load->setMetadata(llvm::LLVMContext::MD_invariant_load,
                      llvm::MDNode::get(emitter.context(), {}));
    memory.strides.push_back(load);
  }
  return memory;
}

std::vector<const ir::Op*> BuffersOf(const Emitter& emitter) {
  std::vector<const ir::Op*> buffers;
  WalkEmitted(emitter, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::BufferNew) buffers.push_back(op);
  });
  return buffers;
}

/// Returns the memory of the viewed tensor, with the strides of the view.
Memory ViewMemory(Emitter& emitter, const ir::Op* view) {
  Memory memory = emitter.memories.at(view->operand(0));
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  auto at = memory.strides.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  llvm::Value* stride = at[static_cast<std::ptrdiff_t>(dims.from) - 1];
  at = memory.strides.erase(at, at + static_cast<std::ptrdiff_t>(dims.from));
  for (size_t i = dims.to;
       i-- > 0;) {  // innermost dimension first, each inserted before the previous one
    at = memory.strides.insert(at, stride);
    if (i == 0) break;
    Size size = view->result()->type()->dims[dims.dimension + i];
    stride = emitter.builder.CreateMul(stride, EmitSize(emitter, size));
  }
  return memory;
}

void EmitJoinRows(Emitter& emitter, ir::Op* op) {
  Memory memory = ViewMemory(emitter, op);
  emitter.memories[op->result()] = std::move(memory);
}

void EmitRowsAdjoin(Emitter& emitter, ir::Op* op) {
  const ir::Value* tensor = op->operand(0);
  const std::vector<llvm::Value*>& strides = emitter.memories.at(tensor).strides;
  emitter.Set(op->result(),
              emitter.builder.CreateICmpEQ(strides[strides.size() - 2],
                                           EmitSize(emitter, tensor->type()->dims.back())));
}

bool MayOverlap(const Region& a, const Region& b) {
  bool apart = a.kind == RegionKind::Ring || a.kind == RegionKind::LaunchTensor;
  if (a.kind != b.kind || apart) return false;
  if (a.kind == RegionKind::Tensor) return a.read_only && b.read_only;
  if (!a.place || !b.place) return false;
  return a.place->space == b.place->space && a.place->offset < b.place->offset + b.place->bytes &&
         b.place->offset < a.place->offset + a.place->bytes;
}

std::vector<LaunchTensorMemory> TensorsOfLaunch(Emitter& emitter) {
  if (!HasLaunchTensors(emitter.kernel)) return {};
  llvm::Value* launch = LoadField(emitter, emitter.abi.kdl_core, PresentCore(emitter),
                                  kdl_core_fields::launch, "launch");
  return LaunchTensors(emitter, LoadField(emitter, emitter.abi.kdl_launch, launch,
                                          kdl_launch_fields::shared, "shared"));
}

}  // namespace

std::vector<llvm::Value*> ConstantStrides(Emitter& emitter, ir::Type type) {
  std::vector<llvm::Value*> strides(type->dims.size());
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = emitter.builder.getInt64(static_cast<uint64_t>(stride));
    stride *= type->dims[d]->value;
  }
  return strides;
}

void SetAliasScopes(Emitter& emitter, std::vector<Region>& regions) {
  llvm::MDBuilder metadata(emitter.context());
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  for (Region& region : regions) region.scope = metadata.createAnonymousAliasScope(domain);
  for (Region& region : regions) {
    std::vector<llvm::Metadata*> others;
    for (const Region& other : regions) {
      if (&other != &region && !MayOverlap(region, other)) others.push_back(other.scope);
    }
    region.memory->alias_scope = llvm::MDNode::get(emitter.context(), {region.scope});
    if (!others.empty()) region.memory->noalias = llvm::MDNode::get(emitter.context(), others);
  }
}

void WalkEmitted(const Emitter& emitter, const std::function<void(const ir::Op*)>& visit) {
  const ir::Op* stage = emitter.coroutine ? emitter.coroutine->stage : nullptr;
  if (stage) return ir::Walk(stage->region(), visit);
  for (const ir::Op* op : *emitter.kernel.body) {
    if (op->kind() == ir::OpKind::Stage) continue;
    for (const ir::Region* region : op->regions()) ir::Walk(region, visit);
    visit(op);
  }
}

llvm::AllocaInst* StackPlace(Emitter& emitter, llvm::Type* type, std::string_view name) {
  auto& builder = emitter.builder;
  llvm::IRBuilder<>::InsertPointGuard guard(builder);
  // In a coroutine, the prologue is not in the entry block, but allocas of fixed size must be there.
  if (emitter.coroutine)
    builder.SetInsertPoint(llvm::cast<llvm::Instruction>(emitter.coroutine->state));
  return builder.CreateAlloca(type, nullptr, name);
}

llvm::Value* FieldAddress(Emitter& emitter, llvm::StructType* type, llvm::Value* base,
                          unsigned field) {
  return emitter.builder.CreateStructGEP(type, base, field);
}

llvm::Value* LoadField(Emitter& emitter, llvm::StructType* type, llvm::Value* base, unsigned field,
                       const char* name) {
  auto* load = emitter.builder.CreateLoad(type->getElementType(field),
                                          FieldAddress(emitter, type, base, field), name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(emitter.context(), {}));
  return load;
}

llvm::Value* LoadAligned(Emitter& emitter, llvm::Value* core, unsigned field, const char* name) {
  llvm::Value* address = LoadField(emitter, emitter.abi.kdl_core, core, field, name);
  auto* align = llvm::ConstantAsMetadata::get(emitter.builder.getInt64(KDL_SCRATCH_ALIGNMENT));
  llvm::cast<llvm::LoadInst>(address)->setMetadata(llvm::LLVMContext::MD_align,
                                                   llvm::MDNode::get(emitter.context(), {align}));
  return address;
}

void FindRings(Emitter& emitter) {
  if (emitter.rings.empty()) return;
  llvm::Value* workspace =
      LoadAligned(emitter, PresentCore(emitter), kdl_core_fields::workspace, "workspace");
  for (const ir::Op* pipe : ir::PipesOf(emitter.kernel)) {
    RingMemory& memory = emitter.rings.at(pipe->result());
    memory.base = emitter.builder.CreateConstInBoundsGEP1_64(
        emitter.builder.getInt8Ty(), workspace, static_cast<uint64_t>(memory.ring.offset),
        std::string_view(pipe->result()->name().text()));
  }
}

void PrepareMemories(Emitter& emitter) {
  auto& builder = emitter.builder;
  std::vector<Region> regions;
  llvm::Value* tensors =
      LoadField(emitter, emitter.abi.kdl_args, emitter.args, kdl_args_fields::tensors, "tensors");
  uint64_t number = 0;
  for (const ir::Param& param : emitter.kernel.params) {
    if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
    llvm::Value* tensor =
        builder.CreateConstInBoundsGEP1_64(emitter.abi.kdl_tensor, tensors, number++);
    Memory& memory = emitter.memories[param.value];
    memory = TensorMemory(emitter, tensor, param);
    regions.push_back({RegionKind::Tensor, &memory, param.direction == ir::Direction::In});
  }
  for (LaunchTensorMemory& tensor : TensorsOfLaunch(emitter)) {
    Memory& memory = emitter.memories[tensor.tensor];
    memory = std::move(tensor.memory);
    regions.push_back({RegionKind::LaunchTensor, &memory});
  }
  for (const ir::Op* pipe : ir::PipesOf(emitter.kernel)) {
    RingMemory& ring = emitter.rings[pipe->result()];
    ring = RingMemoryOf(emitter, pipe);
    regions.push_back({RegionKind::Ring, &ring.slots});
  }
  FindRings(emitter);
  for (const ir::Op* op : BuffersOf(emitter)) {
    const BufferPlace& place = emitter.scratch_plan.places.at(op->result());
    Memory& memory = emitter.memories[op->result()];
    memory = BufferMemory(emitter, op->result());
    if (place.space != BufferSpace::Stack && place.bytes > 0)
      regions.push_back({RegionKind::Buffer, &memory, false, &place});
  }
  SetAliasScopes(emitter, regions);
  PrepareTablesAndViews(emitter, 0);
}

void PrepareTablesAndViews(Emitter& emitter, unsigned space) {
  ir::Walk(emitter.kernel.body, [&](const ir::Op* op) {
    if (op->kind() != ir::OpKind::Table) return;
    emitter.memories[op->result()] = TableMemory(emitter, op, space);
  });
  for (const ir::Op* op : *emitter.kernel.body) {
    if (op->kind() != ir::OpKind::View) continue;
    Memory memory = ViewMemory(emitter, op);
    emitter.memories[op->result()] = std::move(memory);
  }
}

KDL_EMIT(JoinRows, EmitJoinRows)
KDL_EMIT(RowsAdjoin, EmitRowsAdjoin)

}  // namespace kdl::codegen
