#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/orchestration/cpp_names.h"
#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/requests.h"
#include "codegen/orchestration/writer.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

/// How to print a literal. A `Typed` literal has exactly the type of its value.
enum class LiteralStyle : uint8_t { Plain, Typed };

/// A scalar operation: the names of its functions in kdl/scalar.hpp and kdl/scalar.h, and its infix operator
/// in C and C++. The operators of comparisons are used for all types, other operators only for floats. If
/// there is no operator, its text is empty.
struct Operator {
  std::string_view cpp;
  std::string_view c;
  std::string_view infix;
};

/// An argument of a request.
struct Item {
  enum class Kind : uint8_t {
    Text,
    Sizes,
    Arguments,
    Parameters,  ///< each parameter is a name and a tensor, in braces
    Named,  ///< each argument is a name and the result of TensorArgument or ScalarArgument, in braces
    Variables,  ///< each is the result of VariableArgument
    Events,
    Place,
    Workspace,
    Elements,  ///< nonempty if a tensor moves without its elements
    Device     ///< the queue's device; omitted in C++, where queues know it
  };
  Kind kind = Kind::Text;
  std::vector<std::string> texts;  ///< empty if the argument is absent or is an empty list

  Item(std::string text) : texts({std::move(text)}) {}  // NOLINT: implicit
  Item(Kind kind, std::vector<std::string> texts) : kind(kind), texts(std::move(texts)) {}
};

struct Call {
  Request request;
  std::string on;  ///< the queue, tensor, device or workspace of the request; may be empty
  std::vector<Item> items;
  Scalar element = Scalar::Bool;  ///< type of the element that the request reads or writes
};

/// The names of the variables for a request's results. A name is empty if the result is not used.
struct Given {
  std::string tensor;
  std::string event;
  std::string value;
  bool is_event_used = true;
};

/// An object that is freed at the end of a block.
struct Owned {
  enum class Kind : uint8_t { Tensor, Event, Workspace };
  Kind kind;
  std::string name;
};

struct LoopHead {
  std::string index;
  bool is_used;
  std::string lo;
  std::string hi;
  std::string step;  ///< empty if the step is 1
  std::string place;
};

/// The generated function for a `fn` of the source.
struct FnFace {
  std::string name;
  std::vector<Scalar> results;
  bool stops;  ///< whether it may fail, or checks whether something has failed
};

using DimName = std::function<std::string(Name)>;

/// The syntax of a generated program, in C++ or in C. ProgramPrinter prints a program in the same way for
/// both languages.
class Syntax {
 public:
  virtual ~Syntax() = default;

  // -- Scalars ------------------------------------------------------------------------------------

  virtual std::string Type(Scalar scalar) const = 0;
  virtual std::string Literal(Scalar scalar, uint64_t bits, LiteralStyle style) const = 0;
  virtual std::string Cast(Scalar to, Scalar from, std::string_view text) const = 0;
  /// Returns the text of an operation. `trap` is the quoted message for a division by zero; it is empty if
  /// none can occur.
  virtual std::string Apply(const Operator& op, Scalar scalar, std::vector<std::string> operands,
                            const std::string& trap) const = 0;
  /// Returns the text of a size that is computed from other sizes. `trap` has the same meaning as in Apply.
  virtual std::string SizeText(Size size, const DimName& dim, const std::string& trap) const = 0;

  // -- Variables ----------------------------------------------------------------------------------

  virtual void Constant(Writer& writer, Scalar scalar, const std::string& name,
                        const std::string& value, bool is_used, const std::string& place) const = 0;
  /// Declares a variable. `value` is empty if the variable is assigned later.
  virtual void Variable(Writer& writer, Scalar scalar, const std::string& name,
                        const std::string& value, bool is_used) const = 0;
  /// Prints an assignment to a variable that a loop carries, of the value that it has in the next iteration.
  virtual void Next(Writer& writer, Scalar scalar, const std::string& name,
                    const std::string& value) const = 0;
  /// Computes a value without using it, or marks a parameter as unused.
  virtual void Discard(Writer& writer, const std::string& value,
                       const std::string& place = "") const = 0;

  // -- Control ------------------------------------------------------------------------------------

  virtual void OpenLoop(Writer& writer, const LoopHead& loop, CppNames& names) const = 0;
  virtual void OpenWhile(Writer& writer, const std::string& condition,
                         const std::string& place) const = 0;
  /// Called after the last statement of a block.
  virtual void CloseBlock(Writer& writer, const std::vector<Owned>& owned) const = 0;

  // -- Requests -----------------------------------------------------------------------------------

  virtual void Print(Writer& writer, const Call& call, const Given& given,
                     const std::string& place) const = 0;
  /// Returns the text of a request that returns a value or, if MayNest() is true, of one that returns a
  /// tensor.
  virtual std::string Text(const Call& call) const = 0;
  /// Returns whether a part of a tensor may be printed where it is used.
  virtual bool MayNest() const = 0;
  /// Returns a tensor as the operand of a request. The tensor is a parameter of the program, or one that the
  /// program allocates.
  virtual std::string Tensor(const std::string& name, bool is_param) const = 0;
  /// Return the text of an argument of a launch or fill. For a tensor, `text` is the result of Tensor().
  virtual std::string TensorArgument(const std::string& text) const = 0;
  virtual std::string ScalarArgument(Scalar scalar, const std::string& text) const = 0;
  /// Returns the text of a variable whose value a request may replace.
  virtual std::string VariableArgument(Scalar scalar, const std::string& name) const = 0;
  virtual std::string Element(Scalar scalar) const = 0;
  /// Returns the text of a number of cores. If `number` is empty, the launch uses as many cores as the device
  /// has.
  virtual std::string Cores(const std::string& number, bool is_literal) const = 0;
  virtual std::string_view Compare(size_t compare) const = 0;
  virtual std::string Queue(const std::string& device, int64_t queue) const = 0;
  /// Returns a name for the event of a Mark request, which has no name in the source.
  virtual std::string MarkName(const std::string& device, int64_t queue) const = 0;
  virtual void MakeWorkspace(Writer& writer, const std::string& name, const std::string& device,
                             const std::string& users) const = 0;
  virtual void EndTensor(Writer& writer, const std::string& name) const = 0;
  virtual void Swap(Writer& writer, const std::string& a, const std::string& b,
                    const std::string& place) const = 0;

  // -- Programs and fns ---------------------------------------------------------------------------

  /// Prints the start of the program, up to the selection of devices. Picks the names of the variables that
  /// it needs.
  virtual void OpenProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                           CppNames& names) = 0;
  /// Prints the start of a call in all processes. CloseProgram prints its end.
  virtual void BeginCall(Writer& writer, Call call) = 0;
  /// Called instead of `Select` if the program uses no device. Marks the parameters that are unused in this
  /// case. `has_devices` tells whether the program has a parameter that chooses its devices.
  virtual void SelectNothing(Writer& writer, bool has_devices) const = 0;
  virtual void Select(Writer& writer, const std::string& name, const FaceDevice& device) const = 0;
  using Queues = std::vector<std::pair<std::string, int64_t>>;  ///< pairs of a device and a queue
  virtual void OpenQueues(Writer& writer, const Queues& queues, CppNames& names) = 0;
  /// Prints the creation of the ranks of a device. `shape` is empty if they have one axis.
  virtual void OpenRanks(Writer& writer, const std::string& name,
                         const std::vector<int64_t>& shape) = 0;
  /// Prints the creation of a program's checkpoints. `ranks` is empty if the program has no distributed tensors. `program` contains its name and the checksum of its code.
  virtual void OpenCheckpoints(Writer& writer, const std::string& name, const std::string& ranks,
                               const std::vector<std::string>& program,
                               const std::vector<std::string>& files) = 0;
  virtual std::string TensorSizeText(const std::string& param, size_t dimension) const = 0;
  virtual void CloseProgram(Writer& writer) const = 0;

  virtual std::string FnName(const std::string& name) const = 0;
  /// A parameter of a `fn`.
  struct FnParam {
    Scalar scalar;
    std::string name;
    bool is_used;
  };
  virtual void OpenFn(Writer& writer, const FnFace& fn, const std::vector<FnParam>& params,
                      CppNames& names) = 0;
  virtual void Return(Writer& writer, const FnFace& fn,
                      const std::vector<std::string>& values) const = 0;
  struct FnCall {
    std::vector<std::string> args;
    std::string mask;  ///< if not empty, the function is called only if the mask is true
    std::vector<std::string> names;
    bool is_used;
    std::string place;
  };
  virtual void CallFn(Writer& writer, const FnFace& fn, const FnCall& call,
                      CppNames& names) const = 0;
};

std::unique_ptr<Syntax> MakeCppSyntax();
std::unique_ptr<Syntax> MakeCSyntax();

/// Returns text like `kdl_size_add(H, kdl_size_mul(2, P))`, with functions of kdl/sizes.h.
std::string CSizeText(Size size, const DimName& dim);

/// Return the text of an integer, of a constant size, or of a float or double. FloatText returns nullopt if the number is not
/// finite.
std::string IntegerText(Scalar scalar, uint64_t bits);
std::string ConstantSizeText(Size size);
std::optional<std::string> FloatText(Scalar scalar, uint64_t bits);
/// Returns the text of the bits as an integer of the same size.
std::string BitsText(Scalar scalar, uint64_t bits);

}  // namespace kdl::codegen
