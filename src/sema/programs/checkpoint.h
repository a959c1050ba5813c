#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

// `checkpoint(t, x, to = "p", every = 100);` is the first statement of a loop of a program. When the program continues after an
// interruption, it executes everything before the loop again, and begins with the iteration in which the last checkpoint was
// written. So the checkpoint must contain everything that the loop changes and that is read before it is written again.

/// The parts of a checkpoint.
struct Checkpoint {
  const syntax::CallExpr* call = nullptr;
  std::vector<const Entity*> numbers;  ///< variables of the program, and the one of the loop
  std::vector<const syntax::Expr*> tensors;
  std::string path;
  const syntax::Expr* every = nullptr;

  bool Contains(const Entity* entity, const CheckedFunction& program) const;
};

/// Returns the statement as a checkpoint, or nothing if it is something else or has an error.
std::optional<Checkpoint> FindCheckpoint(const CheckedFunction& program, const syntax::Stmt* stmt);
/// Returns the checkpoint with which the body of a loop begins.
std::optional<Checkpoint> FindCheckpointOfLoop(const CheckedFunction& program,
                                               const syntax::BlockStmt& body);

/// Returns whether a call has the form of a checkpoint: no program with this name hides it.
bool IsCheckpointCall(const FunctionState& state, const syntax::CallStmt& stmt);
/// Checks the arguments.
void CheckCheckpoint(FunctionState& state, const syntax::CallStmt& stmt);
/// Checks where the checkpoints of a program are, after the rest of it: each one contains all numbers and parameters that its
/// loop changes. CheckDefiniteWrites does the same for the program's own tensors.
void CheckCheckpointPlaces(FunctionState& state);
/// Reports an error if a program with a checkpoint is called.
bool MayCall(FunctionState& state, const syntax::CallExpr& call, const CheckedFunction& program);

/// Returns the tensors that the statements of a loop change, without those that they declare.
std::vector<const Entity*> ChangedTensors(const CheckedFunction& program,
                                          const syntax::BlockStmt& body);

}  // namespace kdl::sema
