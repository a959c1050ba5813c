#include "codegen/llvm/optimize/long_functions.h"

namespace kdl::codegen {

namespace {

/// LLVM copies this attribute to a part of a function that it moves.
constexpr const char* kLong = "kdl-long";

}  // namespace

bool IsLong(const llvm::Function& function) {
  constexpr unsigned kMostOfShort = 1500;  // instructions
  return function.getInstructionCount() > kMostOfShort || function.hasFnAttribute(kLong);
}

void MarkIfLong(llvm::Function& function) {
  if (IsLong(function)) function.addFnAttr(kLong);
}

}  // namespace kdl::codegen
