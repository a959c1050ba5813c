#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sema/model/access.h"
#include "sema/model/builtins.h"
#include "sema/model/entity.h"
#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

// The results of semantic analysis. They are tables next to the syntax tree, which is not modified.
// After an error the tables are incomplete: later phases accept only modules without errors.
namespace kdl::sema {

struct CheckedFunction;

/// A constant with its final type. `bits` is the bit pattern of a `scalar`, zero-extended; a bool
/// is 0 or 1. Floats are rounded only once, from the decimal text if there is one.
struct Constant {
  Scalar scalar = Scalar::I32;
  uint64_t bits = 0;
  bool operator==(const Constant&) const = default;
};

enum class ReduceKind : uint8_t {
  Sum,
  Prod,
  Max,
  Min,
  Any,
  All,
  Dot,
  Mean,
  ArgMax,
  ArgMin,
  Reduce,  ///< with a fn, ExprInfo::callee
  CumSum,  ///< scans from here on: they keep their range
  CumProd,
  CumMax,
  Scan,  ///< with a fn, ExprInfo::callee
};
std::string_view Spelling(ReduceKind kind);

/// A reduction or scan `op(operands over ranges)`. Its scalar type is the accumulator's, or i64 for
/// argmax and argmin. A reduction removes `ranges` from the type; a scan keeps its only range.
struct ReduceInfo {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<const Entity*> ranges;  ///< as in the `over` list; the last one varies fastest
  Scalar accumulator = Scalar::F32;
  /// Whether this is the whole value of `v += dot(…)`, where v is a var and the result has at least
  /// two ranges. The products are then added directly to v, one fma after the other.
  bool in_place = false;
  bool reversed = false;   ///< a scan that runs from the last element to the first
  bool exclusive = false;  ///< a scan whose results leave out their own element
};

enum class RangeField : uint8_t { Start, Size, Index };

/// A pipe operation: `q.push(tile, i, j)` or `q.pop(i, j)`.
struct PipeInfo {
  bool pushes = false;
  const Entity* pipe = nullptr;
  const syntax::Expr* tile = nullptr;  ///< the pushed tile
  std::vector<const Entity*> ranges;   ///< the range for each position; all are different
};

/// What a call of a fn binds in addition to its parameters.
struct CallInfo {
  std::vector<const Entity*> ranges;  ///< the caller's range for each of callee->ranges
  /// Values of the int generics, then of callee->dims, in terms of the caller's sizes.
  std::vector<Size> sizes;
};

/// What is known about an expression. Fields that do not apply are null.
/// irgen reads `constant` first (the whole expression is that constant), then `size` (it is that size,
/// converted to `type.scalar`), and then the fields for the kind of expression:
///   Name    entity, or builtin (core_id, core_num). A Range occurs only inside an index or a contract,
///           where it means its absolute indices, an i64 tile.
///   Call    builtin, with callee if the builtin is a library fn; or callee, a fn, with call. The
///           operands have one scalar type (for a fn, its parameters' types) and are broadcast to
///           `type.ranges`. For iota, entity is the range. For clamp and similar, see builtins.def. For
///           a push or pop, pipe.
///   Field   entity is the range and field the queried property. For a tuple, neither: the tree has the
///           position of the element.
///   Index   index, or part for a subtile, which has the var as its entity when it is assigned. For a
///           slice of a program's tensor: slice, and the tensor as the entity.
///   Reduce  reduce; for `reduce` and `scan`, callee is the fn.
///   Cast    as written. A cast to tf32 keeps the operand's type and rounds (IsTf32).
///   Binary, Unary, If: as written. The operands of a Binary have one scalar type.
/// Expressions of float types narrower than f32 are computed in f32, and rounded when they are bound,
/// stored or cast.
struct ExprInfo {
  Type type;
  std::optional<Constant> constant;
  Size size = nullptr;
  const Entity* entity = nullptr;
  const Builtin* builtin = nullptr;
  const CheckedFunction* callee = nullptr;
  const IndexInfo* index = nullptr;
  const PartInfo* part = nullptr;
  const SliceInfo* slice = nullptr;
  const ReduceInfo* reduce = nullptr;
  const PipeInfo* pipe = nullptr;
  const CallInfo* call = nullptr;  ///< for a fn that has ranges, sizes or pipes
  RangeField field = RangeField::Start;
  Scalar pattern = Scalar::F64;  ///< of bits, from_bits and `as` in a contract: the type outside it
};

/// Whether the cast is `as tf32`.
bool IsTf32(const syntax::CastExpr& cast);

/// A dimension of a launch argument that must match at launch. There is no check if both sizes are
/// the same.
struct DimCheck {
  uint32_t param = 0;
  uint32_t dim = 0;
  Size formal = nullptr;  ///< in terms of the caller's sizes
  Size actual = nullptr;
};
struct GenericBinding {
  const Entity* generic = nullptr;  ///< an IntGeneric of the callee
  Size value = nullptr;             ///< in terms of the caller's sizes; null means `auto`
};
/// A launch `spmd(core_num = n) on d.queue(0) kernel<…>(args);`, or a call of a program, which is
/// bound in the same way.
struct LaunchInfo {
  const CheckedFunction* kernel = nullptr;
  std::vector<const syntax::Expr*> args;  ///< for each parameter; a tensor is a Name or has a slice
  std::vector<const Entity*> moves;       ///< for each parameter: the device after `to`, or null
  std::vector<GenericBinding> generics;   ///< those that the call gives, by name or through a size
  std::vector<Size> dims;                 ///< values of kernel->dims in terms of the caller's sizes
  std::vector<DimCheck> checks;
  const syntax::Expr* core_num = nullptr;  ///< null means auto
  const Entity* device = nullptr;          ///< null means the default device
  std::vector<const syntax::Expr*> queues;
};

/// A call of `copy(from, to);` or `swap(a, b);`.
struct TensorCallInfo {
  bool swaps = false;
  const syntax::Expr* from = nullptr;  ///< like the tensor arguments of a launch, as is `to`
  const syntax::Expr* to = nullptr;
};

struct ExpectInfo;
/// What is known about a statement. `entities` lists what it declares: the Let, Var or LocalTensor
/// of a let; the binders of a for in order, each a Range or a ScalarBinder; the entity of a range,
/// domain, pipe or stage.
/// The target of an assignment is described by its expression: a Name with a Var, or an Index. The
/// type of this expression is what the value is broadcast to.
struct StmtInfo {
  std::vector<const Entity*> entities;
  bool is_dynamic = false;  ///< `spmd for`: dynamic scheduling; idle cores start the next block
  bool is_grouped = false;  ///< `spmd for`: each core runs whole groups of blocks
  int64_t ahead = 0;        ///< `for`: how many iterations ahead copies begin; 0 if not specified
  const LaunchInfo* launch = nullptr;
  const syntax::Expr* seed = nullptr;  ///< seed of a tensor: `let x = random(f32[N], seed);`
  const syntax::Expr* fill = nullptr;  ///< value of each element: `let h: f32[N] = 0.0;`
  const ExpectInfo* expect = nullptr;
  const TensorCallInfo* tensors = nullptr;
};

/// A size name of the parameters. CheckedFunction lists them in the order of first use.
struct DimInfo {
  const Entity* entity = nullptr;  ///< a SizeName
  /// The first parameter with a dimension that is just this name; `in` and `inout` parameters come
  /// before `out` ones.
  std::optional<uint32_t> param;
  uint32_t dim = 0;
  bool only_out = false;  ///< no `in` or `inout` parameter has such a dimension
};
/// A condition `lhs op rhs`, checked at launch. op is a comparison.
struct WhereInfo {
  syntax::BinaryOp op = syntax::BinaryOp::Eq;
  Size lhs = nullptr;
  Size rhs = nullptr;
  const syntax::Expr* expr = nullptr;
  Name defined;  ///< if not empty, the size name that `expr` defines; it is then compared with 0
};
struct TypeBinding {
  const Entity* generic = nullptr;  ///< a TypeGeneric
  Scalar scalar = Scalar::F32;
};
struct IntGenericInfo {
  const Entity* entity = nullptr;
  std::vector<int64_t> values;   ///< from -D (each makes a variant), or the default; may be empty
  bool is_auto = false;          ///< the default is `auto`, and -D gives no value
  std::vector<int64_t> choices;  ///< the values of `in {…}`; empty if all are allowed
  bool is_faulty = false;        ///< -D gives an invalid value, which has been reported
  bool in_type = false;          ///< in a tensor type: derived from the arguments unless given
  /// The values from which a launch selects if its own value is known only at run time. Empty if
  /// there are none.
  const std::vector<int64_t>& Candidates() const;
};
struct ParamInfo {
  const Entity* entity = nullptr;  ///< a TensorParam, ScalarParam, TileParam or Pipe, with its type
  syntax::Direction direction = syntax::Direction::In;
};

/// One equation of `ensures`. Its free names are Range entities whose `domain` is their extent.
struct EquationInfo {
  const syntax::Equation* equation = nullptr;
  const Entity* defined = nullptr;     ///< an Auxiliary, or null if the equation compares
  std::vector<const Entity*> indices;  ///< of an Auxiliary: the left side's, by dimension
  std::vector<const Entity*> free;     ///< all free names, without those of `over`
};
struct RequirementInfo {
  const syntax::Expr* condition = nullptr;
  std::vector<const Entity*> free;
};
/// An `expect` of a test. Exactly one of the two is set.
struct ExpectInfo {
  std::optional<EquationInfo> equation;
  std::optional<RequirementInfo> condition;
};

/// A fn, kernel or program, instantiated for one choice of its type parameters. In contracts, every
/// float is an f64 and every integer an i64.
struct CheckedFunction {
  const syntax::FunctionItem* item = nullptr;
  const Entity* entity = nullptr;
  std::vector<TypeBinding> types;
  std::vector<IntGenericInfo> generics;
  std::vector<DimInfo> dims;
  std::vector<ParamInfo> params;
  std::vector<const Entity*> ranges;  ///< of a fn: those of its tiles, in the order of first use
  Type result;                        ///< for a fn; Nothing if it has no result
  std::vector<WhereInfo> where;
  std::vector<RequirementInfo> requirements;
  std::vector<EquationInfo> ensures;
  std::vector<const Entity*> entities;  ///< everything that it declares, in source order
  /// For a program: numbers that occur in the sizes of its tensors. Each is also a size name.
  std::unordered_set<const Entity*> sizes;
  bool imported = false;           ///< from another file; present only if it is used
  bool left_out = false;           ///< excluded by -D; kept only if something launches it
  bool is_launched = false;        ///< for one that is left out: something launches it
  bool is_checked = false;         ///< its body has been checked
  std::string_view prefix;         ///< that of its file, `std::nn::`; empty for the compiled file
  const Entity* device = nullptr;  ///< the only device of an imported file, or null

  std::unordered_map<const syntax::Expr*, ExprInfo> exprs;
  std::unordered_map<const syntax::Stmt*, StmtInfo> stmts;

  const ExprInfo& Info(const syntax::Expr* expr) const;
  const StmtInfo& Info(const syntax::Stmt* stmt) const;
  bool HasPipes() const;
  /// Returns the name with the file's prefix, followed by `.f32` etc. for each type parameter. It
  /// is unique.
  std::string InstanceName() const;
};

struct CheckedModule {
  const syntax::Module* module = nullptr;
  std::unique_ptr<Arena> arena;  ///< owns everything the tables point to
  /// In source order, with the instances of a function in the order of their types, then used
  /// functions of other files.
  std::vector<const CheckedFunction*> functions;
  std::vector<const Entity*> devices;  ///< in source order
};

/// A command-line definition `-D NAME=VALUE,VALUE`.
struct Define {
  std::string name;
  std::vector<std::string> values;
  std::string function = {};  ///< applies only to this function's parameter; empty for all
};
struct CheckOptions {
  std::vector<Define> defines;
};

/// A parsed file and the files that it imports, in the order of its import items. Imports have no
/// cycles.
struct SourceFile {
  const syntax::Module* module = nullptr;
  std::string path;  ///< as in an import, `std.nn`; empty for the compiled file
  std::vector<const SourceFile*> imports;
};

/// Checks every item of `file`. `library` contains the files of the standard library that define
/// the elementary functions. Of these and of imported files, only what `file` uses is checked. The
/// result refers to `sizes`, where its sizes are made, and to the trees and files, which must all
/// outlive it.
CheckedModule Check(const SourceFile& file, std::span<const syntax::Module* const> library,
                    const SourceManager& sources, SizeTable& sizes, const CheckOptions& options,
                    DiagnosticEngine& diagnostics);

}  // namespace kdl::sema
