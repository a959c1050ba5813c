#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/c_source/c_source.h"
#include "ir/module.h"
#include "ir/op.h"
#include "support/scalar.h"

// The state while the C text of a kernel is written, and the functions that write ops.

namespace kdl::codegen::c_source {

using ir::Op;
using ir::OpKind;

/// The C type of a scalar. A bool is an int in a variable and a byte in memory. Floats below f32 are integers with
/// their bits.
std::string_view VariableType(Scalar scalar);
std::string_view MemoryType(Scalar scalar);

Scalar IntegerOf(int bytes, bool is_signed);

/// A vector type: `kdl_f32x8`, which GNU C has, and which is a struct for other compilers. The lanes of a bool are 0 or -1, in integers of
/// the size `mask_bits`: `kdl_m32x8`.
std::string VectorType(Scalar scalar, int64_t lanes, int mask_bits);
/// The number of lanes of the C type for a vector of `lanes`: a power of two. The others are unused.
int64_t PaddedLanes(int64_t lanes);

/// Includes the instructions of x86-64 that some functions use.
constexpr std::string_view kIntrinsics =
    "#if defined(__AVX2__) && defined(KDL_GNU_VECTORS)\n"
    "#include <immintrin.h>\n"
    "#endif\n";

/// The lanes of a vector that are in one register of the target.
struct Part {
  std::string field;  ///< ".p1", or nothing if the vector is in one register
  int64_t first;      ///< the first of these lanes
  int64_t lanes;      ///< of the register's type
  int64_t used;       ///< how many of them belong to the vector, from the first one on
};

/// How vectors of one kind become vectors of another one.
struct PartConversion {
  std::function<std::string(int64_t lanes)> from;      ///< returns the type before
  std::function<std::string(int64_t lanes)> to;        ///< returns the type afterwards
  std::function<std::string(int64_t lanes)> function;  ///< returns the name of the function
};

/// The functions and types that a file needs. Each is defined once, before its first user.
class Helpers {
 public:
  explicit Helpers(int register_bits) : register_bits_(register_bits) {}

  /// Returns the registers of a vector with lanes of this size.
  std::vector<Part> Parts(int bits, int64_t lanes) const;
  /// Returns the name of a function, and defines it if it is new. `op` names an operation of scalar_ops.def or of
  /// helpers.cpp, such as "max". With `lanes` above 1, the function applies it to each lane, or to the first ones.
  std::string Function(std::string_view op, Scalar scalar, int64_t lanes = 1, int64_t used = 0);
  /// Returns the name of the function that converts a scalar, or the lanes of a vector.
  std::string Conversion(Scalar from, Scalar to, int64_t lanes = 1);
  /// Returns the name of the function that shifts all lanes by the same number.
  std::string ShiftByScalar(std::string_view op, Scalar scalar, int64_t lanes);
  /// Returns the name of a function that changes the size of the lanes of a vector of bools.
  std::string MaskConversion(int from_bits, int to_bits, int64_t lanes);
  /// Return the names of functions on vectors of bools, and of the one that selects lanes by bools.
  std::string MaskNot(int bits, int64_t lanes);
  std::string MaskOperator(std::string_view name, std::string_view sign, int bits, int64_t lanes);
  std::string Select(Scalar scalar, int64_t lanes, int mask_bits);
  /// Returns the name of the function that applies an operator of C to lanes. The result of a comparison is a vector of
  /// bools. `mask_bits` is the size of operands that are bools.
  std::string Operator(std::string_view name, std::string_view sign, Scalar scalar, int64_t lanes,
                       int mask_bits, bool compares);
  /// Return the names of functions that negate lanes, and that tell which lanes are not 0.
  std::string Negation(Scalar scalar, int64_t lanes);
  std::string HasValue(Scalar scalar, int64_t lanes);
  /// Return the names of functions that tell whether any lane is 0, and whether any is true.
  std::string HasZero(Scalar scalar, int64_t lanes);
  std::string HasTrue(int bits, int64_t lanes);
  /// Returns the name of the function that takes integers as the bits of floats of the same size.
  std::string FromBits(Scalar from, Scalar to, int64_t lanes);
  /// Returns the name of the function that makes a vector of bools, of which only the first ones are true.
  std::string FirstLanes(int bits, int64_t lanes);
  /// Returns the name of the function that copies a scalar to all lanes.
  std::string Splat(Scalar scalar, int64_t lanes, int mask_bits);
  /// Returns the name of the function that converts lanes of bools, of the size of `to`, to integers 0 and 1.
  std::string BoolsToIntegers(Scalar to, int64_t lanes);
  /// Returns the name of a function on vectors, which GNU C computes as a whole, and other compilers lane by lane. In
  /// both expressions, the operands are a, b and c. In the second one, $a is a lane of a.
  std::string Whole(const std::string& name, const std::string& result,
                    std::initializer_list<std::string_view> operands, int64_t lanes,
                    std::string_view whole, std::string_view lane);
  /// Returns the name of the function that picks lanes of one register or of two, which have `lanes` lanes. The numbers
  /// count the lanes of the type; -1 is any lane.
  std::string Shuffle(const std::string& result, const std::string& operand, size_t operands,
                      int64_t lanes, const std::vector<int64_t>& numbers);
  /// Returns the name of a vector type, and defines it if it is new.
  std::string Vector(Scalar scalar, int64_t lanes, int mask_bits = 0);
  /// Adds a definition with a name, unless there is one already.
  void Define(const std::string& name, const std::string& text);
  bool IsDefined(const std::string& name) const { return defined_.contains(name); }
  /// Adds the definition of a function whose result is in several registers. `value` returns the expression for one.
  void DefineByParts(const std::string& name, const std::string& result, std::string_view params,
                     const std::vector<Part>& parts,
                     const std::function<std::string(const Part&)>& value);
  /// Does so for a function that applies another one to the registers of its operands, and returns its name.
  std::string OnParts(const std::string& name, const std::string& result,
                      std::initializer_list<std::string> operands, const std::vector<Part>& parts,
                      const std::string& function);
  /// Defines a function that applies two others, one after the other.
  void DefineChain(const std::string& name, const std::string& result, const std::string& of,
                   const std::string& first, const std::string& second);
  /// Defines a function that converts vectors, at least one of which is in several registers.
  void ConvertParts(const std::string& name, int64_t lanes, const std::vector<Part>& from,
                    const std::vector<Part>& to, const PartConversion& conversion);

  const std::string& text() const { return text_; }

 private:
  void DefineScalar(std::string_view op, Scalar scalar, const std::string& name);
  void DefineLanes(std::string_view op, Scalar scalar, int64_t lanes, int64_t used,
                   const std::string& name);
  /// Returns the function `name` that tells whether `test` is true of any of the first lanes.
  std::string AnyLane(std::string_view name, std::string_view test, Scalar scalar, int64_t lanes,
                      int64_t used, int mask_bits);
  /// Returns the function that rounds f64 to odd.
  std::string OddConversion(int64_t lanes);
  std::string VectorConversion(Scalar from, Scalar to, int64_t lanes);
  void DefineScalarExtremum(std::string_view op, Scalar scalar, const std::string& name);
  void DefineExtremum(bool is_max, Scalar scalar, int64_t lanes, const std::string& name);
  /// Returns an expression of scalar_ops.def as one for vectors of GNU C.
  std::string WholeRow(std::string_view op, Scalar scalar, int64_t lanes);
  void DefineOnParts(std::string_view op, Scalar scalar, int64_t lanes,
                     const std::vector<Part>& parts, const std::string& name);

  int register_bits_;
  std::set<std::string> defined_;
  std::map<std::string, std::string> shuffles_;  ///< names by what they pick
  std::string text_;
};

/// The memory of a tensor or a buffer.
struct Memory {
  std::string base;
  std::vector<std::string> strides;  ///< in elements; empty: 1
};

/// The C expression for a value.
struct Expression {
  std::string text;
  int mask_bits = 0;  ///< of a vector of bools: the size of its lanes
};

struct Writer {
  const ir::Function& kernel;
  Helpers& helpers;
  std::span<const ir::MatrixInstruction* const> instructions;
  std::string text = {};
  int depth = 1;
  std::unordered_map<const ir::Value*, Expression> values = {};
  std::unordered_map<const ir::Value*, Memory> memories = {};
  std::unordered_set<std::string> taken = {};
  std::optional<NotInC> failure = {};
  int64_t scratch_bytes = 0;

  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    text.append(static_cast<size_t>(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  }
  const Expression& At(const ir::Value* value) const { return values.at(value); }
  const std::string& Get(const ir::Value* value) const { return values.at(value).text; }
  /// Returns the value as a vector with the lanes of `type`. A scalar is copied to all lanes, and lanes of bools
  /// have the given size.
  std::string Lanes(const ir::Value* value, int64_t lanes, int mask_bits = 0);
  /// Returns a unique name, derived from the value's name.
  std::string NewName(const ir::Value* value);
  /// Returns the C type of a variable for the value.
  std::string Type(const ir::Value* value, int mask_bits = 0);
  /// Writes the definition of a variable for the value.
  void Define(const ir::Value* value, std::string_view expression, int mask_bits = 0);
  /// Records that C source cannot contain the op.
  void Refuse(const Op* op, std::string_view what);
};

// sizes.cpp
/// Returns the C expression for a size on a core.
std::string SizeText(const Writer& w, Size size);
/// Returns the C expression for a size before a launch. It sets the variable `kdl_wrong` if it divides by 0 or
/// overflows, unless `IsSafe`.
std::string CheckedSizeText(const Writer& w, Size size);
/// Whether a size never divides by 0 and never overflows, if the caller's sizes are in their limits.
bool IsSafe(Size size);

void WriteRegion(Writer& w, const ir::Region* region);
/// Writes code that returns an error unless the condition is true.
void TrapUnless(Writer& w, std::string_view ok, const Op* op, int32_t trap);

// Each of these writes an op, or returns false if the op is not one of its kinds.
bool WriteElementwise(Writer& w, const Op* op);
bool WriteLanes(Writer& w, const Op* op);
bool WriteMemory(Writer& w, const Op* op);
bool WriteControl(Writer& w, const Op* op);

/// Returns the text of a C string literal.
std::string Literal(std::string_view text);
/// Returns a constant expression with exactly these bits.
std::string ConstantText(Scalar scalar, uint64_t bits);

}  // namespace kdl::codegen::c_source
