#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/expression.h"
#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/syntax.h"
#include "codegen/orchestration/writer.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_info.h"
#include "ir/type.h"
#include "support/names.h"
#include "support/size.h"

namespace kdl::codegen {

/// The ops of a program that have an effect, and the ops that these use.
class Needs {
 public:
  explicit Needs(const ir::Region* body) {
    ir::Walk(body, [this](const ir::Op* op) {
      if (!op->info().has(ir::kPure)) Mark(op);
    });
  }
  bool Has(const ir::Op* op) const { return needed_.contains(op); }
  /// Returns how often needed ops use a value.
  int Uses(const ir::Value* value) const {
    auto found = uses_.find(value);
    return found == uses_.end() ? 0 : found->second;
  }

 private:
  void Mark(const ir::Op* op) {
    if (!needed_.insert(op).second) return;
    for (const ir::Value* operand : op->operands()) {
      if (op->kind() == ir::OpKind::Free && operand != op->operand(0))
        continue;  // the runtime waits before it frees memory
      ++uses_[operand];
      if (operand->def() && operand->def()->info().has(ir::kPure)) Mark(operand->def());
    }
  }

  std::set<const ir::Op*> needed_;
  std::unordered_map<const ir::Value*, int> uses_;
};

/// Prints one program as a function in C++ or C.
class ProgramPrinter {
 public:
  ProgramPrinter(Writer& writer, Language language, const ir::Module& module,
                 const ModuleFace& face, const FaceFunction& program)
      : writer_(writer),
        syntax_(language == Language::C ? MakeCSyntax() : MakeCppSyntax()),
        module_(module),
        face_(face),
        program_(program),
        function_(*program.functions[0]),
        needs_(function_.body),
        expressions_(*syntax_, [this](const ir::Value* value) { return VariableOf(value); }) {}

  void Print();
  /// Prints a fn instead of a program.
  void PrintFunction();

 private:
  // -- Before the statements --------------------------------------------------------------------------

  void PrintDevices();
  void UseQueue(Name device, int64_t queue);
  /// Binds each size where it first occurs by itself, then compares every tensor with its declared shape.
  void PrintSizes();
  /// Checks that parameters that are written overlap no other parameters: the order of launches relies on
  /// it.
  void PrintApart();
  std::string SizeSource(Name dim) const;
  std::vector<std::string> SizeTexts(ir::Type type, ir::Loc loc) const;

  // -- Values -------------------------------------------------------------------------------------

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  std::optional<std::string> VariableOf(const ir::Value* value) const;
  std::string Definition(const ir::Op* op) const { return expressions_.Definition(op); }
  /// Returns the text of a tensor as the operand of a request.
  std::string TensorText(const ir::Value* tensor) const;
  std::string ArgumentText(const ir::Value* value) const;
  /// Returns whether the scalar needs a variable, instead of being part of just one expression.
  bool IsVariable(const ir::Value* value) const;
  const std::string& NewVariable(const ir::Value* value, std::string_view wanted);
  /// Returns the value's own name, or `otherwise`.
  static std::string Wanted(const ir::Value* value, std::string otherwise);

  // -- Statements ---------------------------------------------------------------------------------

  /// Returns `  // file.kdl:12` when something from the line is printed for the first time.
  std::string Place(const ir::Op* op);
  /// Returns `"file.kdl:12:5"`, for errors of ops that may fail. Place then treats the line as printed.
  std::string FailurePlace(const ir::Op* op);
  /// Prints a block of the text. Objects that were created in the block are freed at its end, after what
  /// `last` prints.
  void PrintRegion(const ir::Region* region, const std::function<void()>& last = {});
  /// Must be called after the declaration of an object that is freed at the end of the block.
  void Own(Owned::Kind kind, const std::string& name) { owned_.back().push_back({kind, name}); }
  void PrintOp(const ir::Op* op);
  void PrintScalar(const ir::Op* op);
  void PrintFree(const ir::Op* op);
  void PrintSwap(const ir::Op* op);
  void PrintNothing(const ir::Op* op);
  void PrintAlloc(const ir::Op* op);
  static bool IsPart(const ir::Value* tensor);
  /// Returns whether a part is written where it is used: it is used once and has no name.
  static bool MayStandInPlace(const ir::Value* part);
  /// Returns the name of a tensor's variable, from which other names are derived. For a part that is written
  /// in place, returns the name that its variable would have.
  std::string CalledAfter(const ir::Value* tensor) const;
  void PrintSlice(const ir::Op* op);
  void PrintView(const ir::Op* op);
  void PrintBindSize(const ir::Op* op);
  /// Returns whether the program uses a size with this name in an allocation or a requirement.
  bool IsAskedFor(Name size) const;
  void PrintRequire(const ir::Op* op);
  /// Adds `{i, j}`, the events to wait for, the place, and the access as it is written.
  void AddAccess(Call& call, const ir::Op* op, std::span<ir::Value* const> index,
                 std::span<ir::Value* const> after);
  void PrintHostLoad(const ir::Op* op);
  void PrintHostStore(const ir::Op* op);
  void PrintDeviceCores(const ir::Op* op);

  /// Declares variables for the values that a loop carries: the parameters of its region from `first` on.
  std::vector<std::string> PrintCarried(const ir::Op* op, std::span<ir::Value* const> inits,
                                        size_t first);
  /// Assigns the values that a region yields to the variables of its op.
  void PrintYield(const ir::Region* region, const std::vector<std::string>& targets);
  void PrintLoop(const ir::Op* op);
  void PrintWhile(const ir::Op* op);
  void PrintIf(const ir::Op* op);
  void PrintAssert(const ir::Op* op);
  void PrintCall(const ir::Op* op);
  void PrintReturn(const ir::Op* op);

  // -- Ops that are put into queues: program_launches.cpp ---------------------------------------------

  /// Returns the queue of the op.
  std::string QueueText(const ir::Op* op) const;
  Item Events(std::span<ir::Value* const> events) const;
  /// Prints a request that returns an event. If the event has no name, it is called `wanted`.
  void PrintQueued(const ir::Op* op, const ir::Value* event, const std::string& wanted, Call call,
                   const std::string& place = "");
  void PrintLives(const ir::Op* op);
  void PrintApartOp(const ir::Op* op);
  void PrintTransfer(const ir::Op* op);
  void PrintRelocate(const ir::Op* op);
  void PrintCopyBack(const ir::Op* op);
  /// Returns a request to move tensors, with the cause, the events, the place, and whether elements move.
  Call Move(Request request, const ir::Op* op, std::vector<Item> tensors,
            std::span<ir::Value* const> after);
  void SayCause(const ir::Op* op);
  void PrintCopy(const ir::Op* op);
  void PrintFill(const ir::Op* op);
  /// Prints the mark as part of the statement of the launch that waits for it, which states the place.
  void PrintMark(const ir::Op* op);
  /// Prints a workspace. Its name is `matmul_residual_q` for the pipe q of matmul_residual.
  void PrintWorkspace(const ir::Op* op);
  /// Prints no statement: the footprint is part of the statement that reserves this number of bytes.
  void PrintFootprint(const ir::Op* op);
  void PrintInstances(const ir::Op* op);
  /// Prints a request to reserve `instances` times `footprint` bytes.
  void PrintReserve(const ir::Op* op);
  void PrintLaunch(const ir::Op* op);
  FnFace FaceOf(const ir::Function& fn) const;
  /// Returns the text for a number of cores. If `cores` is null, the number is `auto`.
  std::string CoresText(const ir::Value* cores) const;

  Writer& writer_;
  std::unique_ptr<Syntax> syntax_;
  const ir::Module& module_;
  const ModuleFace& face_;
  const FaceFunction& program_;
  const ir::Function& function_;
  Needs needs_;
  Expressions expressions_;
  CppNames names_;
  std::unordered_map<const ir::Value*, std::string> variables_;
  std::set<const ir::Value*> part_variables_;  ///< parts and views that are not written in place
  std::vector<std::vector<Owned>> owned_;      ///< objects to free, for each surrounding block
  std::unordered_map<Name, std::string> dims_;
  std::unordered_map<Name, std::string> devices_;
  std::vector<std::pair<Name, int64_t>> queues_;
  std::set<std::pair<std::string_view, uint32_t>> said_;
};

/// Prints the fns that programs call, directly or indirectly. In C++ they are in a namespace `fn`.
void PrintFunctions(Writer& writer, Language language, const ir::Module& module,
                    const ModuleFace& face);

/// Removes parentheses around the whole text.
std::string Unwrapped(const std::string& text);

}  // namespace kdl::codegen
