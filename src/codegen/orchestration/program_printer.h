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

/// What of a program has an effect, or is used by what has.
class Needs {
 public:
  explicit Needs(const ir::Region* body) {
    ir::Walk(body, [this](const ir::Op* op) {
      if (!op->info().has(ir::kPure)) Mark(op);
    });
  }
  bool Has(const ir::Op* op) const { return needed_.contains(op); }
  /// How often a value is used by needed ops.
  int Uses(const ir::Value* value) const {
    auto found = uses_.find(value);
    return found == uses_.end() ? 0 : found->second;
  }

 private:
  void Mark(const ir::Op* op) {
    if (!needed_.insert(op).second) return;
    for (const ir::Value* operand : op->operands()) {
      if (op->kind() == ir::OpKind::Free && operand != op->operand(0))
        continue;  // the runtime's memory waits by itself
      ++uses_[operand];
      if (operand->def() && operand->def()->info().has(ir::kPure)) Mark(operand->def());
    }
  }

  std::set<const ir::Op*> needed_;
  std::unordered_map<const ir::Value*, int> uses_;
};

/// Prints one program as a function of a language.
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
  /// Of a fn.
  void PrintFunction();

 private:
  // -- What stands before the statements ----------------------------------------------------------

  void PrintDevices();
  void UseQueue(Name device, int64_t queue);
  /// Binds each size where it stands first on its own, then compares every tensor with what it is declared to be.
  void PrintSizes();
  /// What is written overlaps no other parameter: the order of launches relies on it.
  void PrintApart();
  std::string SizeSource(Name dim) const;
  std::vector<std::string> SizeTexts(ir::Type type, ir::Loc loc) const;

  // -- Values -------------------------------------------------------------------------------------

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  std::optional<std::string> VariableOf(const ir::Value* value) const;
  std::string Definition(const ir::Op* op) const { return expressions_.Definition(op); }
  /// A tensor, as requests are given it.
  std::string TensorText(const ir::Value* tensor) const;
  std::string ArgumentText(const ir::Value* value) const;
  /// A scalar that is more than a part of one expression.
  bool IsVariable(const ir::Value* value) const;
  const std::string& NameOf(const ir::Value* value, std::string_view wanted);
  /// The value's own name, else `otherwise`.
  static std::string Wanted(const ir::Value* value, std::string otherwise);

  // -- Statements ---------------------------------------------------------------------------------

  /// `  // file.kdl:12`, the first time that something of the line is printed.
  std::string Place(const ir::Op* op);
  /// `"file.kdl:12:5"`, for errors of what may fail; it says the line, too.
  std::string FailurePlace(const ir::Op* op);
  /// A block of the text: what it made ends with it, after what `last` prints.
  void PrintRegion(const ir::Region* region, const std::function<void()>& last = {});
  /// Behind the declaration of what ends with the block.
  void Own(Owned::Kind kind, const std::string& name) { owned_.back().push_back({kind, name}); }
  void PrintOp(const ir::Op* op);
  void PrintScalar(const ir::Op* op);
  void PrintFree(const ir::Op* op);
  void PrintSwap(const ir::Op* op);
  void PrintNothing(const ir::Op* op);
  void PrintAlloc(const ir::Op* op);
  static bool IsPart(const ir::Value* tensor);
  /// A part that is used once and has no name is written where it is used.
  static bool MayStandInPlace(const ir::Value* part);
  /// The variable of a tensor, for names made from it; of a part that is written in place the one that it would have.
  std::string CalledAfter(const ir::Value* tensor) const;
  void PrintSlice(const ir::Op* op);
  void PrintView(const ir::Op* op);
  void PrintBindSize(const ir::Op* op);
  /// Whether the text has a size with this name.
  bool IsAskedFor(Name size) const;
  void PrintRequire(const ir::Op* op);
  /// `{i, j}`, the events that are waited for, the place and the access as written.
  void AddAccess(Call& call, const ir::Op* op, std::span<ir::Value* const> index,
                 std::span<ir::Value* const> after);
  void PrintHostLoad(const ir::Op* op);
  void PrintHostStore(const ir::Op* op);
  void PrintDeviceCores(const ir::Op* op);

  /// The variables of what a loop carries, by its params from `first` on.
  std::vector<std::string> PrintCarried(const ir::Op* op, std::span<ir::Value* const> inits,
                                        size_t first);
  /// Assigns what a region yields to the variables that its op has for it.
  void PrintYield(const ir::Region* region, const std::vector<std::string>& targets);
  void PrintLoop(const ir::Op* op);
  void PrintWhile(const ir::Op* op);
  void PrintIf(const ir::Op* op);
  void PrintAssert(const ir::Op* op);
  void PrintCall(const ir::Op* op);
  void PrintReturn(const ir::Op* op);

  // -- What queues are given: program_launches.cpp -------------------------------------------------

  /// The queue of the op.
  std::string QueueText(const ir::Op* op) const;
  Item Events(std::span<ir::Value* const> events) const;
  /// Prints a request that gives an event; `wanted` is what it is called where it has no name.
  void PrintQueued(const ir::Op* op, const ir::Value* event, const std::string& wanted, Call call,
                   const std::string& place = "");
  void PrintLives(const ir::Op* op);
  void PrintApartOp(const ir::Op* op);
  void PrintTransfer(const ir::Op* op);
  void PrintRelocate(const ir::Op* op);
  void PrintCopyBack(const ir::Op* op);
  /// A request to move tensors, with the cause, the events, the place and whether elements move.
  Call Move(Request request, const ir::Op* op, std::vector<Item> tensors,
            std::span<ir::Value* const> after);
  void SayCause(const ir::Op* op);
  void PrintCopy(const ir::Op* op);
  void PrintFill(const ir::Op* op);
  /// It belongs to the statement of the launch that waits for it, which tells the place.
  void PrintMark(const ir::Op* op);
  /// `matmul_residual_q` for the pipe q of matmul_residual.
  void PrintWorkspace(const ir::Op* op);
  /// Part of the statement that reserves so much.
  void PrintFootprint(const ir::Op* op);
  void PrintInstances(const ir::Op* op);
  /// Instances times footprint.
  void PrintReserve(const ir::Op* op);
  void PrintLaunch(const ir::Op* op);
  FnFace FaceOf(const ir::Function& fn) const;
  /// Null: `auto`.
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
  std::set<const ir::Value*> part_variables_;  ///< parts and views that do not stand in place
  std::vector<std::vector<Owned>> owned_;      ///< by the blocks around
  std::unordered_map<Name, std::string> dims_;
  std::unordered_map<Name, std::string> devices_;
  std::vector<std::pair<Name, int64_t>> queues_;
  std::set<std::pair<std::string_view, uint32_t>> said_;
};

/// The fns that programs call, and those that they call: of C++ as functions of a namespace `fn`.
void PrintFunctions(Writer& writer, Language language, const ir::Module& module,
                    const ModuleFace& face);

/// Without parentheses around the whole.
std::string Unwrapped(const std::string& text);

}  // namespace kdl::codegen
