#pragma once

#include "codegen/common/team.h"
#include "codegen/llvm/emitter.h"

namespace kdl::codegen::ptx {

/// LLVM's numbers of the machine's memories.
enum Space : unsigned { kGlobal = 1, kShared = 3 };

/// A kernel whose core is a team: a block of CUDA's, of whose threads each runs what is emitted.
struct TeamEmitter final : Emitter {
  using Emitter::Emitter;
  bool EmitOwn(ir::Op* op) override;

  TeamMemory* places = nullptr;
  llvm::BinaryOperator* scratch_start =
      nullptr;                    ///< of the core; how much each has is known in the end
  llvm::Value* launch = nullptr;  ///< the launch's numbers (team_abi.h), as a parameter has them
  llvm::Value* shared = nullptr;
  llvm::Value* record = nullptr;
  llvm::Value* prints = nullptr;
  llvm::Value* worker = nullptr;
  llvm::Value* live =
      nullptr;  ///< a place: whether the worker has not trapped; null: none goes on when it has
  bool in_team = false;  ///< in a loop of the team's, whose workers go their own ways
};

llvm::BasicBlock* NewBlock(TeamEmitter& emitter, const char* name);

// entry.cpp
/// The kernel's function, parameters and memories, and its body.
void EmitKernel(TeamEmitter& emitter);
/// Number `at` of the launch's.
llvm::Value* LaunchNumber(TeamEmitter& emitter, uint64_t at, std::string_view name);

// control.cpp
/// A loop whose turns the workers share.
void EmitTeamLoop(TeamEmitter& emitter, ir::Op* op);
/// A `while` whose turns are parts of the launch.
void EmitParts(TeamEmitter& emitter, ir::Op* op);
void EmitBarrier(TeamEmitter& emitter);
/// Fills the block that traps have left through since it was made, where there are any: tells the first trap of the launch,
/// and goes on at `then`; null: leaves the kernel.
void FinishTraps(TeamEmitter& emitter, llvm::BasicBlock* then);
/// Whether a worker may trap where others do not.
bool MayTrapAlone(const ir::Function& kernel);

// print.cpp
void EmitPrint(TeamEmitter& emitter, ir::Op* op);

}  // namespace kdl::codegen::ptx
