#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
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

/// The ops of a program that have an effect, and the ops whose results they need.
class Needs {
 public:
  explicit Needs(const ir::Region* body) {
    ir::Walk(body, [this](const ir::Op* op) {
      if (!op->info().has(ir::kPure)) Mark(op);
    });
  }
  bool Has(const ir::Op* op) const { return needed_.contains(op); }
  /// Returns the number of uses of a value by needed ops.
  int Uses(const ir::Value* value) const {
    auto found = uses_.find(value);
    return found == uses_.end() ? 0 : found->second;
  }

 private:
  void Mark(const ir::Op* op) {
    if (!needed_.insert(op).second) return;
    for (const ir::Value* operand : op->operands()) {
      if (op->kind() == ir::OpKind::Free && operand != op->operand(0))
        continue;  // not a use: the runtime waits for the events before it frees memory
      ++uses_[operand];
      if (operand->def() && operand->def()->info().has(ir::kPure)) Mark(operand->def());
    }
  }

  std::set<const ir::Op*> needed_;
  std::unordered_map<const ir::Value*, int> uses_;
};

/// Prints one program as a function in C++ or C. A program is a host function that launches kernels.
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
  /// Prints a `fn`, which is a function of the source that programs call.
  void PrintFunction();

 private:
  // -- Before the statements --------------------------------------------------------------------------

  void PrintDevices();
  /// Prints the ranks of the devices over which the program distributes tensors.
  void PrintRankDevices();
  /// If the program distributes tensors, prints the start of its call in all processes.
  void PrintBeginCall();
  void UseQueue(Name device, int64_t queue);
  /// Prints the initialization of each size, from the first dimension that consists of only this size. Then
  /// prints checks that every tensor has its declared shape.
  void PrintSizes();
  /// Prints checks that no tensor which the program writes overlaps any other parameter. The order of
  /// launches depends on that.
  void PrintApart();
  std::string SizeSource(Name dim) const;
  std::vector<std::string> SizeTexts(ir::Type type, ir::Loc loc) const;

  // -- Values -------------------------------------------------------------------------------------

  std::string Text(const ir::Value* value, LiteralStyle style) const;
  std::optional<std::string> VariableOf(const ir::Value* value) const;
  std::string Definition(const ir::Op* op) const { return expressions_.Definition(op); }
  /// Returns the text of a tensor as the operand of a request to the runtime.
  std::string TensorText(const ir::Value* tensor) const;
  std::string ArgumentText(const ir::Value* value) const;
  /// Returns whether the scalar needs a variable, rather than being printed as part of a single expression.
  bool IsVariable(const ir::Value* value) const;
  const std::string& NewVariable(const ir::Value* value, std::string_view wanted);
  /// Returns the value's name in the source, or `otherwise` if it has no name.
  static std::string Wanted(const ir::Value* value, std::string otherwise);

  // -- Statements ---------------------------------------------------------------------------------

  /// Returns `  // file.kdl:12` the first time that something from this source line is printed, otherwise an
  /// empty string.
  std::string Place(const ir::Op* op);
  /// Returns `"file.kdl:12:5"`, for errors of ops that may fail. `Place` will not print this source line
  /// again.
  std::string FailurePlace(const ir::Op* op);
  /// Prints a region as a block. Objects that the block creates are freed at its end, after the statements
  /// that `last` prints.
  void PrintRegion(const ir::Region* region, const std::function<void()>& last = {});
  /// Records an object that is freed at the end of the block. Must be called after the declaration of the
  /// object has been printed.
  void Own(Owned::Kind kind, const std::string& name) { owned_.back().push_back({kind, name}); }
  void PrintOp(const ir::Op* op);
  void PrintScalar(const ir::Op* op);
  void PrintFree(const ir::Op* op);
  void PrintSwap(const ir::Op* op);
  void PrintNothing(const ir::Op* op);
  void PrintAlloc(const ir::Op* op);
  static bool IsPart(const ir::Value* tensor);
  /// Returns whether a part of a tensor is printed where it is used. This requires that it is used once and
  /// has no name.
  static bool MayStandInPlace(const ir::Value* part);
  /// Returns the name of a tensor's variable, from which other names are derived. If a part has no variable,
  /// returns the name that the variable would have.
  std::string CalledAfter(const ir::Value* tensor) const;
  void PrintSlice(const ir::Op* op);
  void PrintView(const ir::Op* op);
  void PrintBindSize(const ir::Op* op);
  void PrintSizeOf(const ir::Op* op);
  /// Returns whether an allocation or requirement in the program uses a size with this name.
  bool IsAskedFor(Name size) const;
  void PrintRequire(const ir::Op* op);
  /// Adds the arguments of an access to an element: `{i, j}`, the events to wait for, the source location,
  /// and the source text of the access.
  void AddAccess(Call& call, const ir::Op* op, std::span<ir::Value* const> index,
                 std::span<ir::Value* const> after);
  void PrintHostLoad(const ir::Op* op);
  void PrintHostStore(const ir::Op* op);
  void PrintDeviceCores(const ir::Op* op);

  /// Declares variables for the values that a loop carries, which are the parameters of its region from
  /// number `first` on.
  std::vector<std::string> PrintCarried(const ir::Op* op, std::span<ir::Value* const> inits,
                                        size_t first);
  /// Prints assignments of the values that a region yields to the variables `targets`.
  void PrintYield(const ir::Region* region, const std::vector<std::string>& targets);
  void PrintLoop(const ir::Op* op);
  void PrintWhile(const ir::Op* op);
  void PrintIf(const ir::Op* op);
  void PrintAssert(const ir::Op* op);
  void PrintCall(const ir::Op* op);
  void PrintTable(const ir::Op* op);
  std::string TableIndex(const ir::Op* op, const ir::AccessDim& dim);
  void PrintTableLoad(const ir::Op* op);
  void PrintReturn(const ir::Op* op);

  // -- Ops that are put into queues: program_launches.cpp ---------------------------------------------

  /// Returns the text of the queue that the op is submitted to.
  std::string QueueText(const ir::Op* op) const;
  Item Events(std::span<ir::Value* const> events) const;
  /// Prints a request that returns an event. If the event has no name in the source, it is named `wanted`.
  void PrintQueued(const ir::Op* op, const ir::Value* event, const std::string& wanted, Call call,
                   const std::string& place = "");
  void PrintLives(const ir::Op* op);
  void PrintApartOp(const ir::Op* op);
  void PrintTransfer(const ir::Op* op);
  void PrintRelocate(const ir::Op* op);
  void PrintCopyBack(const ir::Op* op);
  /// Returns a request to move tensors. Adds arguments that say on which device the tensors should be, why
  /// they are moved, for which events the move must wait, and where it is in the source. For moves other than
  /// a copy back, also adds whether elements are copied. They are not if they will be written before they are
  /// read.
  Call Move(Request request, const ir::Op* op, std::vector<Item> tensors,
            std::span<ir::Value* const> after);
  void SayCause(const ir::Op* op);
  void PrintCopy(const ir::Op* op);
  void PrintFill(const ir::Op* op);
  /// Prints a request for an event that completes after everything that is in the queue so far. Prints no
  /// source location, since the launch that waits for the event states it.
  void PrintMark(const ir::Op* op);
  /// Prints the declaration of a workspace, which is named `matmul_residual_q` for the pipe q of
  /// matmul_residual.
  void PrintWorkspace(const ir::Op* op);
  /// Prints nothing yet. PrintReserve prints the request for the footprint, the number of bytes that one
  /// instance of the kernel needs, as a part of its own statement.
  void PrintFootprint(const ir::Op* op);
  void PrintInstances(const ir::Op* op);
  /// Prints a request to reserve `instances` times `footprint` bytes of workspace.
  void PrintReserve(const ir::Op* op);
  void PrintLaunch(const ir::Op* op);

  // -- Ops on distributed tensors: program_ranks.cpp ---------------------------------------------------

  /// Returns the variable of the ranks of an op's device.
  const std::string& RanksOf(const ir::Op* op) const;
  void PrintRanks(const ir::Op* op);
  /// Prints the results of an op about what a rank owns, each as a constant with the request and the name in `numbers`.
  void PrintOwnedNumbers(const ir::Op* op,
                         std::initializer_list<std::pair<Request, std::string_view>> numbers);
  void PrintOwned(const ir::Op* op);
  void PrintOwnedBlocks(const ir::Op* op);
  void PrintOwnedBlock(const ir::Op* op);
  void PrintRankMemory(const ir::Op* op);
  void PrintFetch(const ir::Op* op);
  void PrintStartFetches(const ir::Op* op);
  void PrintFinishFetches(const ir::Op* op);
  void PrintRewritten(const ir::Op* op);

  // -- Checkpoints: program_checkpoints.cpp -------------------------------------------------------------

  /// Prints the declaration of the program's checkpoints, if it has any.
  void PrintCheckpoints();
  /// Adds the tensors of a checkpoint, the events to wait for, and the source location.
  void AddSaved(Call& call, const ir::Op* op, std::span<ir::Value* const> tensors,
                std::span<ir::Value* const> after);
  void PrintRestore(const ir::Op* op);
  void PrintCheckpoint(const ir::Op* op);

  FnFace FaceOf(const ir::Function& fn) const;
  /// Returns the text for a number of cores. If `cores` is null, the device chooses the number.
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
  std::set<const ir::Value*> part_variables_;  ///< parts and views of tensors that have variables
  std::vector<std::vector<Owned>> owned_;  ///< objects to free at the end of each enclosing block
  std::unordered_map<Name, std::string> dims_;
  std::unordered_map<Name, std::string> devices_;
  std::unordered_map<Name, std::string> ranks_;  ///< by device
  std::string checkpoints_;                      ///< empty if there are none
  bool has_fetches_ = false;                     ///< whether fetches have not been finished
  std::vector<std::pair<Name, int64_t>> queues_;
  std::set<std::pair<std::string_view, uint32_t>> said_;
};

/// Prints the `fn`s that programs call, directly or indirectly. In C++ they are in a namespace `fn`.
void PrintFunctions(Writer& writer, Language language, const ir::Module& module,
                    const ModuleFace& face);

/// Removes parentheses that enclose the whole text.
std::string Unwrapped(const std::string& text);

}  // namespace kdl::codegen
