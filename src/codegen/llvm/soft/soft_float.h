#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kdl::codegen {

struct Emitter;

/// Emits a * b + c for f32 or f64, or vectors of these, rounded once, on any processor.
llvm::Value* EmitFma(Emitter& emitter, llvm::Value* a, llvm::Value* b, llvm::Value* c);

// Emulation of instructions that a processor does not have. Results are exact to the bit, except that the
// bits of a NaN may differ.

/// Returns the module's function `name`, which computes a * b + c, rounded once. Creates the function on
/// first use. `type` is f32, f64 or a vector of these. The caller must set the function's target processor.
llvm::Function* SoftFma(llvm::Module& module, llvm::Type* type, const std::string& name);

/// Convert between float and the bits of f16 (i16 or a vector of it). Narrowing rounds to nearest, ties to
/// even.
llvm::Value* SoftWidenHalf(llvm::IRBuilder<>& builder, llvm::Value* bits);
llvm::Value* SoftNarrowHalf(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace kdl::codegen
