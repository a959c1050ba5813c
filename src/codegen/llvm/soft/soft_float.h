#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kdl::codegen {

struct Emitter;

/// Emits a * b + c for f32 or f64, or vectors of these, rounded once, on any processor.
llvm::Value* EmitFma(Emitter& emitter, llvm::Value* a, llvm::Value* b, llvm::Value* c);

// Emulation of instructions that a processor does not have. Results are exact to the bit, except that the
// bits of a NaN may differ.

/// Computes a * b + c for f32 or f64, or vectors of these, rounded once. `level` names the target processor, for
/// which the caller must compile the functions that the code calls.
llvm::Value* EmitSoftFma(llvm::IRBuilder<>& builder, llvm::Value* a, llvm::Value* b, llvm::Value* c,
                         const std::string& level);

/// Returns the module's function that computes a * b + c for f64 or a vector of it with integers, and creates it
/// on first use. It is slow, and preserves its callers' registers.
llvm::Function* WideFma(llvm::Module& module, llvm::Type* type, const std::string& name);

/// Convert between float and the bits of f16 (i16 or a vector of it). Narrowing rounds to nearest, ties to
/// even.
llvm::Value* SoftWidenHalf(llvm::IRBuilder<>& builder, llvm::Value* bits);
llvm::Value* SoftNarrowHalf(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace kdl::codegen
