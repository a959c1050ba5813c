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
#include "sema/model/launch_info.h"  // IWYU pragma: export
#include "support/arena.h"
#include "support/diagnostics.h"
#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "support/source.h"
#include "syntax/ast.h"

// The results of semantic analysis. They are tables next to the syntax tree, which is not modified. After
// an error, the tables are incomplete, and later phases must not use them.
namespace kdl::sema {

struct CheckedFunction;

/// A constant with its final type. `bits` is the bit pattern of a value of type `scalar`, zero-extended; a
/// bool is 0 or 1. A float is rounded only once, from its decimal text if it has one.
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
  Reduce,  ///< reduces with a fn, which is ExprInfo::callee
  CumSum,  ///< this and all following kinds are scans, which keep their range
  CumProd,
  CumMax,
  Scan,  ///< scans with a fn, which is ExprInfo::callee
};
std::string_view Spelling(ReduceKind kind);

/// A reduction or scan `op(operands over ranges)`. Its scalar type is that of the accumulator, or i64 for
/// argmax and argmin. A reduction removes `ranges` from the type; a scan has only one range and keeps it.
struct ReduceInfo {
  ReduceKind kind = ReduceKind::Sum;
  /// The ranges of the `over` list, in its order; the last one varies fastest.
  std::vector<const Entity*> ranges;
  Scalar accumulator = Scalar::F32;
  /// Whether the reduction is the right side of a statement `v += dot(…)`, where v is a var with at least two
  /// ranges. If so, the products are added directly to v, one fma after another.
  bool in_place = false;
  bool reversed = false;   ///< a scan that runs from the last element to the first
  bool exclusive = false;  ///< a scan in which each result excludes its own element
};

enum class RangeField : uint8_t { Start, Size, Index };

/// An operation on a pipe: `q.push(tile, i, j)` or `q.pop(i, j)`.
struct PipeInfo {
  bool pushes = false;
  const Entity* pipe = nullptr;
  const syntax::Expr* tile = nullptr;  ///< the tile that is pushed
  std::vector<const Entity*> ranges;   ///< the range for each dimension of the pipe, all different
};

/// What a call of a fn binds in addition to the fn's parameters.
struct CallInfo {
  std::vector<const Entity*> ranges;  ///< for each of callee->ranges, the caller's range
  /// The values of the int generics, followed by the values of callee->dims, expressed by sizes of the caller.
  std::vector<Size> sizes;
};

/// What is known about an expression. Fields that do not apply are null.
/// irgen first reads `constant` (the value of the whole expression) and `size` (its value as a size, which must
/// be converted to `type.scalar`). It then reads the fields for the kind of the expression:
///   Name    `entity`, or `builtin` for core_id and core_num. A Range occurs only in indices and contracts, where
///           its value is a tile of i64: the absolute indices of the range.
///   Call    For a fn: `callee` and `call`. For a builtin: `builtin`, and also `callee` if a fn of the library
///           implements it. For iota, `entity` is the range; for clamp and similar builtins, see builtins.def. For
///           a push or pop: `pipe`. All operands have one scalar type (for a fn, the types of its parameters) and
///           are broadcast to `type.ranges`.
///   Field   `entity` is the range, and `field` is the queried property. For an element of a tuple, both are unset:
///           the syntax tree contains the position of the element.
///   Index   `index`, or `part` for a subtile. When a subtile is assigned, `entity` is the var. For a slice of a
///           program's tensor, `slice` is set, and `entity` is the tensor.
///   Reduce  `reduce`. For `reduce` and `scan`, `callee` is the fn.
///   Cast    The syntax tree contains everything. A cast to tf32 keeps the operand's type and rounds (IsTf32).
///   Binary, Unary, If: The syntax tree contains everything. The operands of a Binary have one scalar type.
/// An expression of a float type narrower than f32 is computed in f32. It is rounded when it is bound, stored or
/// cast.
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
  const CallInfo* call = nullptr;  ///< only for a fn that has ranges, sizes or pipes
  RangeField field = RangeField::Start;
  /// In contracts: the operand's type (`bits`, `from_bits`) or the target type (`as`) outside the contract.
  Scalar pattern = Scalar::F64;
};

/// Returns whether the cast is `as tf32`.
bool IsTf32(const syntax::CastExpr& cast);

struct ExpectInfo;
/// What is known about a statement. `entities` lists what the statement declares: the Let, Var or LocalTensor
/// of a let; the loop variables of a for from left to right, each of which is a Range or a ScalarBinder; the
/// entity of a range, domain, pipe or stage. The target of an assignment is described by its expression,
/// which is a Name with a Var, or an Index. The value is broadcast to the type of this expression.
struct StmtInfo {
  std::vector<const Entity*> entities;
  /// `spmd for` with dynamic scheduling: a core that is idle starts the next block.
  bool is_dynamic = false;
  bool is_grouped = false;  ///< `spmd for` in which each core runs whole groups of blocks
  /// `for`: how many iterations in advance copies are started; 0 if not specified.
  int64_t ahead = 0;
  const LaunchInfo* launch = nullptr;
  const syntax::Expr* seed = nullptr;  ///< the seed in `let x = random(f32[N], seed);`
  const syntax::Expr* fill = nullptr;  ///< the value of each element, as in `let h: f32[N] = 0.0;`
  const ExpectInfo* expect = nullptr;
  const TensorCallInfo* tensors = nullptr;
};

/// A size name that parameters use. CheckedFunction lists size names in the order of their first use.
struct DimInfo {
  const Entity* entity = nullptr;  ///< a SizeName
  /// The first parameter in which one dimension is just this name. `in` and `inout` parameters are searched
  /// before `out` parameters.
  std::optional<uint32_t> param;
  uint32_t dim = 0;
  bool only_out = false;  ///< no `in` or `inout` parameter has a dimension that is just this name
};
/// A condition `lhs op rhs` that is checked at launch; `op` is a comparison.
struct WhereInfo {
  syntax::BinaryOp op = syntax::BinaryOp::Eq;
  Size lhs = nullptr;
  Size rhs = nullptr;
  const syntax::Expr* expr = nullptr;
  /// If `expr` defines the value of a size name, that name. In this case, the condition says that the value
  /// is not negative.
  Name defined;
};
struct IntGenericInfo {
  const Entity* entity = nullptr;
  /// From -D (each value makes a variant), or the default; may be empty.
  std::vector<int64_t> values;
  bool is_auto = false;          ///< the default is `auto`, and -D does not give a value
  std::vector<int64_t> choices;  ///< the values of `in {…}`; empty if all values are allowed
  bool is_faulty = false;        ///< -D gives an invalid value, which has been reported
  bool in_type = false;  ///< it is used in a tensor's type, so arguments determine it unless the
                         ///< call gives it
  /// The values from which a launch selects one if the value that it gives is known only at run time. Empty
  /// if there are no such values.
  const std::vector<int64_t>& Candidates() const;
};
struct ParamInfo {
  const Entity* entity = nullptr;  ///< a TensorParam, ScalarParam, TileParam or Pipe, with its type
  syntax::Direction direction = syntax::Direction::In;
  syntax::ParamStrides strides = syntax::ParamStrides::Dense;
};

/// An optional parameter, and whether calls of this instance pass a tensor for it.
struct OptionalInfo {
  Name name;
  bool is_present = true;
  bool operator==(const OptionalInfo&) const = default;
};

/// One equation of `ensures`. Its free names are Range entities; the `domain` of each is its extent.
struct EquationInfo {
  const syntax::Equation* equation = nullptr;
  const Entity* defined = nullptr;  ///< an Auxiliary, or null if the equation compares
  /// For an Auxiliary: the indices on the left side, by dimension.
  std::vector<const Entity*> indices;
  std::vector<const Entity*> free;    ///< all free names, without the names of `over` lists
  std::vector<const Entity*> listed;  ///< for a list: the names of its `over`
  const Entity* output = nullptr;     ///< for a list: the output or tensor that is compared
  const Entity* count = nullptr;      ///< for a list: the parameter that counts its elements
  /// For the elements that an `expect` lists: a table of them. Each free name is the index of one dimension.
  const Entity* table = nullptr;
};
struct RequirementInfo {
  const syntax::Expr* condition = nullptr;
  std::vector<const Entity*> free;
};
/// An `expect` of a test. It has either an equation or a condition.
struct ExpectInfo {
  std::optional<EquationInfo> equation;
  std::optional<RequirementInfo> condition;
};

/// A fn, kernel or program that is instantiated for one choice of its type and function parameters, and of its optional
/// parameters that are present. In a contract, every float is an f64 and every integer an i64.
struct CheckedFunction {
  const syntax::FunctionItem* item = nullptr;
  const Entity* entity = nullptr;
  std::vector<TypeBinding> types;
  std::vector<FunctionBinding> functions;
  std::vector<OptionalInfo> optionals;  ///< one for each optional parameter
  std::vector<IntGenericInfo> generics;
  std::vector<DimInfo> dims;
  std::vector<ParamInfo> params;
  /// Only for a fn: the ranges of its tiles, in the order of first use.
  std::vector<const Entity*> ranges;
  Type result;  ///< only for a fn; Nothing if it has no result
  std::vector<WhereInfo> where;
  std::vector<RequirementInfo> requirements;
  std::vector<EquationInfo> ensures;
  std::vector<const Entity*> entities;  ///< all entities that it declares, in source order
  /// For a program: the named integers that occur in the sizes of its tensors. Each of them is also a size
  /// name.
  std::unordered_set<const Entity*> sizes;
  bool is_for_header = false;  ///< exported: its name has no suffixes for function parameters
  bool imported = false;     ///< it comes from another file; imported functions are present only if
                             ///< they are used
  bool left_out = false;     ///< -D excludes it; it is kept only if something launches it
  bool is_launched = false;  ///< something launches it; only set if it is left out
  bool is_checked = false;   ///< its body has been checked
  /// The prefix of its file, such as `std::nn::`; empty for the compiled file.
  std::string_view prefix;
  const Entity* device = nullptr;  ///< the only device that an imported file declares, or null

  std::unordered_map<const syntax::Expr*, ExprInfo> exprs;
  std::unordered_map<const syntax::Stmt*, StmtInfo> stmts;

  const ExprInfo& Info(const syntax::Expr* expr) const;
  const StmtInfo& Info(const syntax::Stmt* stmt) const;
  const FunctionBinding& Bound(const Entity* generic) const;  ///< of a function parameter
  bool HasPipes() const;
  bool IsAbsent(Name param) const;  ///< whether the parameter is optional and absent
  /// Returns the name with the file's prefix, followed by the values of function parameters, as in `map:relu`,
  /// by a suffix such as `.f32` for each type parameter, and by one such as `.no_bias` for each absent parameter.
  /// The name is unique.
  std::string InstanceName() const;
};

struct CheckedModule {
  const syntax::Module* module = nullptr;
  std::unique_ptr<Arena> arena;  ///< owns everything to which the tables refer
  /// The functions in source order, with the instances of each function in the order of their types. Used
  /// functions of other files follow.
  std::vector<const CheckedFunction*> functions;
  std::vector<const Entity*> devices;  ///< in source order
};

/// A command-line definition `-D NAME=VALUE,VALUE`.
struct Define {
  std::string name;
  std::vector<std::string> values;
  std::string function = {};  ///< if not empty, it applies only to parameters of this function
};
struct CheckOptions {
  std::vector<Define> defines;
};

/// A parsed file and the files that it imports, in the order of its import items. Imports have no cycles.
struct SourceFile {
  const syntax::Module* module = nullptr;
  std::string path;  ///< as in an import, such as `std.nn`; empty for the compiled file
  std::vector<const SourceFile*> imports;
};

/// Checks every item of `file`. `library` contains the files of the standard library that define the
/// elementary functions. Items of these files and of imported files are checked only if `file` uses them. The
/// result refers to `sizes`, in which its sizes are allocated, and to the trees and files. All of these must
/// outlive the result.
CheckedModule Check(const SourceFile& file, std::span<const syntax::Module* const> library,
                    const SourceManager& sources, SizeTable& sizes, const CheckOptions& options,
                    DiagnosticEngine& diagnostics);

}  // namespace kdl::sema
