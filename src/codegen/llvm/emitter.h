#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "codegen/llvm/abi.h"
#include "codegen/llvm/compile.h"
#include "codegen/llvm/scratch.h"
#include "ir/module.h"
#include "ir/views.h"

namespace kdl::codegen {

/// A tensor or a buffer: element (i, j, …) lies i * strides[0] + j * strides[1] + … elements after
/// the base.
struct Memory {
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> strides;
  llvm::MDNode* alias_scope = nullptr;
  llvm::MDNode* noalias = nullptr;  ///< null: nothing is known
};

/// The facts of a blk, i64 each.
struct BlkFacts {
  llvm::Value* start;
  llvm::Value* size;
  llvm::Value* index;
};

/// All traps of a kernel leave through one block; each adds its values here.
struct TrapExit {
  llvm::BasicBlock* block = nullptr;
  llvm::PHINode* code = nullptr;
  llvm::PHINode* location = nullptr;
  llvm::PHINode* index = nullptr;
  llvm::PHINode* bound = nullptr;
};

/// What is known while one kernel, or its launch check, is emitted. State only; the functions below
/// do the work.
struct Emitter {
  llvm::Module& module;
  const AbiTypes& abi;
  const ir::Function& kernel;
  KernelCode& code;
  llvm::IRBuilder<> builder;
  llvm::Function* function = nullptr;
  llvm::Value* args = nullptr;  ///< const kdl_args*
  llvm::Value* trap = nullptr;  ///< where the kdl_trap is written
  llvm::Value* core_id = nullptr;
  llvm::Value* core_num = nullptr;
  llvm::Value* stop = nullptr;  ///< address of kdl_launch.stop; null in a launch check
  llvm::Value* scratch = nullptr;
  llvm::BasicBlock* stopped = nullptr;  ///< returns KDL_DONE early; made by the first poll
  TrapExit trap_exit;
  ScratchPlan scratch_plan;
  int loop_depth = 0;
  std::unordered_map<Name, llvm::Value*> dims;
  std::unordered_map<const ir::Value*, llvm::Value*> scalars;
  std::unordered_map<const ir::Value*, Memory> memories;
  std::unordered_map<const ir::Value*, BlkFacts> blks;

  Emitter(llvm::Module& m, const AbiTypes& types, const ir::Function& k, KernelCode& c)
      : module(m), abi(types), kernel(k), code(c), builder(m.getContext()) {}

  llvm::LLVMContext& context() const { return module.getContext(); }
  /// The value of a scalar or vector operand.
  llvm::Value* Get(const ir::Value* value) const;
  void Set(const ir::Value* value, llvm::Value* llvm_value) { scalars[value] = llvm_value; }
};

/// How a scalar lives in a register: bool i1, f16 and bf16 their bits, the rest as it is; and in
/// memory: bool i8. A vector is one of these.
llvm::Type* RegisterType(llvm::LLVMContext& context, Scalar scalar);
llvm::Type* RegisterType(llvm::LLVMContext& context, ir::Type type);
llvm::Type* MemoryType(llvm::LLVMContext& context, Scalar scalar);
/// `scalar`, or a vector of it with the lanes of `like` where that is a vector.
inline llvm::Type* WithLanesOf(const llvm::Value* like, llvm::Type* scalar) {
  return like->getType()->getWithNewType(scalar);
}

/// Emits the instructions of one op. A row of the table: one a kind of op that exists at loop
/// level.
using EmitFunction = void (*)(Emitter& emitter, ir::Op* op);
struct EmitRow {
  ir::OpKind kind;
  EmitFunction emit;
};
std::vector<EmitRow> ArithmeticRows();
std::vector<EmitRow> CastRows();
std::vector<EmitRow> MemoryRows();
std::vector<EmitRow> VectorRows();
std::vector<EmitRow> ControlRows();

/// Emits a block's ops, without its terminator, at the builder's place.
void EmitBlock(Emitter& emitter, const ir::Block* block);

// arithmetic.cpp
/// floor(a / b) and a - b * floor(a / b); b is not 0.
llvm::Value* EmitFloorDivide(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);
llvm::Value* EmitFloorModulo(Emitter& emitter, llvm::Value* a, llvm::Value* b, bool is_signed);

// casts.cpp
llvm::Value* WidenNarrowFloat(Emitter& emitter, Scalar from, llvm::Value* bits);  ///< to float
llvm::Value* EmitCast(Emitter& emitter, llvm::Value* value, Scalar from, Scalar to);

// vectors.cpp
/// `value` in every lane of a vector of `lanes`; itself where it is a vector or lanes is 1.
llvm::Value* Splat(Emitter& emitter, llvm::Value* value, int64_t lanes);

// memory.cpp
/// Makes `memories`: tensors' addresses and strides, buffers' places, and what overlaps what.
void PrepareMemories(Emitter& emitter);
/// Reads field `field` of an ABI struct that no core writes; its type is the field's.
llvm::Value* LoadField(Emitter& emitter, llvm::StructType* type, llvm::Value* base, unsigned field,
                       const char* name);
llvm::Value* FieldAddress(Emitter& emitter, llvm::StructType* type, llvm::Value* base,
                          unsigned field);
/// A size of an access as an i64 over the dims.
llvm::Value* EmitSize(Emitter& emitter, Size size);

// traps.cpp
/// Goes on where `ok` holds; else stops the core with the trap at `location`.
void TrapUnless(Emitter& emitter, llvm::Value* ok, const TrapLocation& location, llvm::Value* index,
                llvm::Value* bound);
TrapLocation LocationOf(const ir::Op* op, int32_t code);
/// Fills the block that all traps leave through, where there are any.
void FinishTraps(Emitter& emitter);
/// Leaves the kernel when another core of the launch has trapped.
void PollStop(Emitter& emitter);

// entry.cpp
void EmitKernel(Emitter& emitter);

// launch_check.cpp
/// Makes the check_fn where a parameter has a dimension that is an expression.
void EmitLaunchCheck(llvm::Module& module, const AbiTypes& abi, const ir::Function& kernel,
                     Names& names, KernelCode& code);

}  // namespace kdl::codegen
