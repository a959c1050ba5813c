#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kdl::codegen {

struct Emitter;

/// Emits a * b + c for f32 or f64, or vectors of these, rounded once, on any processor.
llvm::Value* EmitFma(Emitter& emitter, llvm::Value* a, llvm::Value* b, llvm::Value* c);

// Emulation of instructions that a processor does not have. Results are exact to the bit, except that a NaN
// may be any NaN.

/// Returns the function `name` of the module, which computes a * b + c, rounded once. Creates the function
/// on first use. `type` is f32, f64 or a vector of these. The caller must set the processor of the function.
llvm::Function* SoftFma(llvm::Module& module, llvm::Type* type, const std::string& name);

/// Converts between the bits of f16s (i16 or a vector of them) and float. Narrowing rounds to nearest even.
llvm::Value* SoftWidenHalf(llvm::IRBuilder<>& builder, llvm::Value* bits);
llvm::Value* SoftNarrowHalf(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace kdl::codegen
