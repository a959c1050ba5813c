#pragma once

#include <algorithm>
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
#include "codegen/orchestration/writer.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

/// `Typed` has exactly the value's type, also for a literal.
enum class LiteralStyle : uint8_t { Plain, Typed };

/// What computes on scalars: a function of kdl/scalar.hpp and of kdl/scalar.h, and the operator that both languages have for
/// it, on every type (comparisons) or on floats; empty where there is none.
struct Operator {
  std::string_view cpp;
  std::string_view c;
  std::string_view infix;
};

/// What a program asks of the runtime.
enum class Request : uint8_t {
  Allocate,
  Apart,
  Assert,
  At,
  Copy,
  CopyBack,
  Cores,
  Expect,
  ExpectApart,
  ExpectOn,
  Fill,
  Footprint,
  Instances,
  Launch,
  Mark,
  Move,
  Part,
  Read,
  Require,
  Reserve,
  Transfer,
  View,
  Write,
};

/// Its member of an object, or function, in C++; and its function in C, which is given the program and the object first.
struct RequestNames {
  Request request;
  std::string_view cpp;
  std::string_view c;
};
inline constexpr RequestNames kRequestNames[] = {
    {Request::Allocate, "Allocate", "kdl_allocate"},
    {Request::Apart, "Apart", "kdl_apart"},
    {Request::Assert, "kdl::Assert", "kdl_assert"},
    {Request::At, "At", "kdl_at"},
    {Request::Copy, "Copy", "kdl_copy_array"},
    {Request::CopyBack, "CopyBack", "kdl_copy_array_back"},
    {Request::Cores, "cores", "kdl_cores"},
    {Request::Expect, "Expect", "kdl_expect"},
    {Request::ExpectApart, "ExpectApart", "kdl_expect_apart"},
    {Request::ExpectOn, "ExpectOn", "kdl_expect_on"},
    {Request::Fill, "Fill", "kdl_fill_array"},
    {Request::Footprint, "Footprint", "kdl_footprint"},
    {Request::Instances, "Instances", "kdl_instances"},
    {Request::Launch, "Launch", "kdl_launch"},
    {Request::Mark, "Mark", "kdl_mark"},
    {Request::Move, "Move", "kdl_move_array"},
    {Request::Part, "Part", "kdl_part"},
    {Request::Read, "Read", "kdl_read"},
    {Request::Require, "kdl::Require", "kdl_require"},
    {Request::Reserve, "Reserve", "kdl_reserve"},
    {Request::Transfer, "Transfer", "kdl_transfer_array"},
    {Request::View, "View", "kdl_view"},
    {Request::Write, "Write", "kdl_write"},
};
constexpr const RequestNames& NamesOf(Request request) {
  return kRequestNames[static_cast<size_t>(request)];
}
static_assert(std::ranges::all_of(kRequestNames,
                                  [](const RequestNames& names) {
                                    return &names == &NamesOf(names.request);
                                  }),
              "the names stand in the order of the requests");

/// Something that a request is given.
struct Item {
  enum class Kind : uint8_t {
    Text,
    Sizes,
    Arguments,
    Parameters,  ///< each a name and a tensor, in braces
    Events,
    Place,
    Workspace,
    Elements,  ///< a text where a tensor moves without them
    Device     ///< of the queue, which knows it in C++
  };
  Kind kind = Kind::Text;
  std::vector<std::string> texts;  ///< empty: absent, or a list of nothing

  Item(std::string text) : texts({std::move(text)}) {}  // NOLINT: implicit
  Item(Kind kind, std::vector<std::string> texts) : kind(kind), texts(std::move(texts)) {}
};

struct Call {
  Request request;
  std::string on;  ///< the queue, tensor, device or workspace; empty: none
  std::vector<Item> items;
  Scalar element = Scalar::Bool;  ///< of what is read or written
};

/// The names of what a request gives; empty: nobody asks for it.
struct Given {
  std::string tensor;
  std::string event;
  std::string value;
  bool is_event_used = true;
};

/// What a block made that ends with it.
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
  std::string step;  ///< empty: 1
  std::string place;
};

/// A fn of the language as a function.
struct FnFace {
  std::string name;
  std::vector<Scalar> results;
  bool stops;  ///< it may fail, or asks whether something has
};

using DimName = std::function<std::string(Name)>;

/// How a program's text is spelled: in C++ or in C. The walk over the program, program_printer.h, is the same for both.
class Syntax {
 public:
  virtual ~Syntax() = default;

  // -- Scalars ------------------------------------------------------------------------------------

  virtual std::string Type(Scalar scalar) const = 0;
  virtual std::string Literal(Scalar scalar, uint64_t bits, LiteralStyle style) const = 0;
  virtual std::string Cast(Scalar to, Scalar from, std::string_view text) const = 0;
  /// `trap`: what a division by zero says, quoted; empty where there is none.
  virtual std::string Apply(const Operator& op, Scalar scalar, std::vector<std::string> operands,
                            const std::string& trap) const = 0;
  /// A size that is made of others; `trap` as above.
  virtual std::string SizeText(Size size, const DimName& dim, const std::string& trap) const = 0;

  // -- Variables ----------------------------------------------------------------------------------

  virtual void Constant(Writer& writer, Scalar scalar, const std::string& name,
                        const std::string& value, bool is_used, const std::string& place) const = 0;
  /// `value`: empty for one that is assigned later.
  virtual void Variable(Writer& writer, Scalar scalar, const std::string& name,
                        const std::string& value, bool is_used) const = 0;
  /// What the next turn of a loop begins with.
  virtual void Next(Writer& writer, Scalar scalar, const std::string& name,
                    const std::string& value) const = 0;
  /// Computes a value that nobody asks for, or names a parameter.
  virtual void Discard(Writer& writer, const std::string& value,
                       const std::string& place = "") const = 0;

  // -- Control ------------------------------------------------------------------------------------

  virtual void OpenLoop(Writer& writer, const LoopHead& loop, CppNames& names) const = 0;
  virtual void OpenWhile(Writer& writer, const std::string& condition,
                         const std::string& place) const = 0;
  /// Behind the last statement of a block.
  virtual void CloseBlock(Writer& writer, const std::vector<Owned>& owned) const = 0;

  // -- Requests -----------------------------------------------------------------------------------

  virtual void Print(Writer& writer, const Call& call, const Given& given,
                     const std::string& place) const = 0;
  /// Of one that gives a value, or a tensor where MayNest.
  virtual std::string Text(const Call& call) const = 0;
  /// Whether a part of a tensor may stand where it is used.
  virtual bool MayNest() const = 0;
  /// A tensor that a request is given: a parameter of the program, or one of its own.
  virtual std::string Tensor(const std::string& name, bool is_param) const = 0;
  /// What a launch or a fill is given; of a tensor, `text` is Tensor's.
  virtual std::string TensorArgument(const std::string& text) const = 0;
  virtual std::string ScalarArgument(Scalar scalar, const std::string& text) const = 0;
  virtual std::string Element(Scalar scalar) const = 0;
  /// `number`: empty for as many as the device holds.
  virtual std::string Cores(const std::string& number, bool is_literal) const = 0;
  virtual std::string_view Compare(size_t compare) const = 0;
  virtual std::string Queue(const std::string& device, int64_t queue) const = 0;
  /// What the event of a Mark is called, which has no name in the source.
  virtual std::string MarkName(const std::string& device, int64_t queue) const = 0;
  virtual void MakeWorkspace(Writer& writer, const std::string& name, const std::string& device,
                             const std::string& users) const = 0;
  virtual void EndTensor(Writer& writer, const std::string& name) const = 0;
  virtual void Swap(Writer& writer, const std::string& a, const std::string& b,
                    const std::string& place) const = 0;

  // -- Programs and fns ---------------------------------------------------------------------------

  /// Up to where the devices are selected; the names of its own are picked.
  virtual void OpenProgram(Writer& writer, const ModuleFace& face, const FaceFunction& program,
                           CppNames& names) = 0;
  /// Where a program selects no device: its parameters for that. `has_devices`: it has one that says which.
  virtual void SelectNothing(Writer& writer, bool has_devices) const = 0;
  virtual void Select(Writer& writer, const std::string& name, const FaceDevice& device) const = 0;
  using Queues = std::vector<std::pair<std::string, int64_t>>;  ///< by device
  virtual void OpenQueues(Writer& writer, const Queues& queues, CppNames& names) = 0;
  virtual std::string SizeOf(const std::string& param, size_t dimension) const = 0;
  virtual void CloseProgram(Writer& writer) const = 0;

  virtual std::string FnName(const std::string& name) const = 0;
  /// Of a parameter: its type, its name and whether it is used.
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
    std::string mask;  ///< empty: none; else it is called where that holds
    std::vector<std::string> names;
    bool is_used;
    std::string place;
  };
  virtual void CallFn(Writer& writer, const FnFace& fn, const FnCall& call,
                      CppNames& names) const = 0;
};

std::unique_ptr<Syntax> MakeCppSyntax();
std::unique_ptr<Syntax> MakeCSyntax();

/// `kdl_size_add(H, kdl_size_mul(2, P))`, over kdl/sizes.h.
std::string CSizeText(Size size, const DimName& dim);

/// An integer's value; and that of a float or double, nothing where it is not finite.
std::string IntegerText(Scalar scalar, uint64_t bits);
std::optional<std::string> FloatText(Scalar scalar, uint64_t bits);
/// The bits as a number of the integer of that size.
std::string BitsText(Scalar scalar, uint64_t bits);

}  // namespace kdl::codegen
