#pragma once

#include <llvm/IR/IRBuilder.h>

namespace kdl::codegen {

struct Emitter;

/// a * b + c of f32 or f64, or vectors of these, rounded once, on any processor.
llvm::Value* EmitFma(Emitter& emitter, llvm::Value* a, llvm::Value* b, llvm::Value* c);

// What processors without the instructions compute with others, to the bit; NaN comes out as some NaN.

/// A function of the module, `name`, made when it is first asked for: a * b + c of `type`, f32 or f64 or a vector of
/// these, rounded once. Its caller says what processor it is for.
llvm::Function* SoftFma(llvm::Module& module, llvm::Type* type, const std::string& name);

/// The bits of f16s, i16 or a vector of them, to float, and back, rounded to nearest even.
llvm::Value* SoftWidenHalf(llvm::IRBuilder<>& builder, llvm::Value* bits);
llvm::Value* SoftNarrowHalf(llvm::IRBuilder<>& builder, llvm::Value* value);

}  // namespace kdl::codegen
