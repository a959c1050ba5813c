#include "codegen/llvm/emitter.h"

#include <cstddef>

#include "codegen/llvm/source_lines.h"
#include "ir/op.h"
#include "ir/op_table.h"
#include "support/check.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

using EmitFunction = void (*)(Emitter& emitter, ir::Op* op);

template <ir::OpKind kind>
consteval EmitFunction EmitterOf() {
  constexpr const ir::OpInfo& kInfo = ir::kOpTable[static_cast<size_t>(kind)];
  if constexpr (kInfo.is_in(ir::kLoops) && !kInfo.has(ir::kTerminator)) {
    return &Emit<kind>;
  } else {
    return nullptr;
  }
}

constexpr EmitFunction kEmitters[] = {
#define KDL_OP_SHAPE(kind, ...) EmitterOf<ir::OpKind::kind>(),
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
};

}  // namespace

llvm::BasicBlock* Emitter::NewBlock(const char* name) const {
  return llvm::BasicBlock::Create(context(), name, function);
}

llvm::Value* Emitter::Get(const ir::Value* value) const {
  auto found = scalars.find(value);
  KDL_CHECK(found != scalars.end(), "no scalar has been emitted for '{}'", value->name().text());
  return found->second;
}

llvm::Type* RegisterType(llvm::LLVMContext& context, Scalar scalar) {
  if (scalar == Scalar::Bool) return llvm::Type::getInt1Ty(context);
  if (scalar == Scalar::F32) return llvm::Type::getFloatTy(context);
  if (scalar == Scalar::F64) return llvm::Type::getDoubleTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(Bytes(scalar)) * 8);
}

llvm::Type* RegisterType(llvm::LLVMContext& context, ir::Type type) {
  llvm::Type* scalar = RegisterType(context, type->scalar);
  if (!ir::IsVector(type)) return scalar;
  return llvm::FixedVectorType::get(scalar, static_cast<unsigned>(ir::Lanes(type)));
}

llvm::Type* MemoryType(llvm::LLVMContext& context, Scalar scalar) {
  return scalar == Scalar::Bool ? llvm::Type::getInt8Ty(context) : RegisterType(context, scalar);
}

llvm::Type* WithLanesOf(const llvm::Value* like, llvm::Type* scalar) {
  return like->getType()->getWithNewType(scalar);
}

void EmitOp(Emitter& emitter, ir::Op* op) {
  auto& builder = emitter.builder;
  llvm::DebugLoc around = builder.getCurrentDebugLocation();
  SourceLines* lines = emitter.debugging.lines;
  if (llvm::DebugLoc here =
          lines ? lines->DebugLocFor(op->loc(), op->parent_region()) : llvm::DebugLoc())
    builder.SetCurrentDebugLocation(here);
  if (emitter.debugging.watch) emitter.debugging.watch->Reach(op);
  if (!emitter.EmitOwn(op)) {
    EmitFunction emit = kEmitters[static_cast<size_t>(op->kind())];
    KDL_CHECK(emit, "'{}' is not an op of the loop level", op->info().spelling);
    emit(emitter, op);
  }
  if (emitter.debugging.watch) emitter.debugging.watch->Made(op);
  builder.SetCurrentDebugLocation(around);
}

void EmitRegion(Emitter& emitter, const ir::Region* region) {
  if (emitter.debugging.watch) emitter.debugging.watch->EnterRegion(region);
  for (ir::Op* op : *region) {
    if (op->info().has(ir::kTerminator)) break;
    EmitOp(emitter, op);
  }
  // Without these markers for the ends of lifetimes, LLVM would keep the buffers in the coroutine's frame.
  if (emitter.coroutine) EndBuffers(emitter, region);
  if (emitter.debugging.watch) emitter.debugging.watch->LeaveRegion();
}

}  // namespace kdl::codegen
