#pragma once

namespace llvm {
class FunctionPass;
}  // namespace llvm

namespace kdl::codegen {

/// Returns a pass that splits basic blocks of more than 4,000 instructions into blocks of 2,000. LLVM selects and
/// schedules the instructions of one basic block together, in a time that grows with the square of their
/// number. The pass must run after CodeGenPrepare, which joins blocks.
llvm::FunctionPass* MakeSplitBlocks();

}  // namespace kdl::codegen
