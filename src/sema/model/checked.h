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

// What semantic analysis knows of a module: tables next to the tree, which stays as it was written.
// After an error the tables are incomplete; only a module without errors may be walked further.
namespace kdl::sema {

struct CheckedFunction;

/// A constant in its final type: the bit pattern of `scalar`, zero-extended; bool is 0 or 1.
/// Floats are rounded once, from the decimal text where there is one.
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
  CumSum,  ///< from here on scans, which keep their range
  CumProd,
  CumMax,
  Scan,  ///< with a fn
};
std::string_view Spelling(ReduceKind kind);

/// `op(operands over ranges)`. Its type is that of the accumulator, of argmax and argmin i64, without the ranges; a scan
/// keeps its one range.
struct ReduceInfo {
  ReduceKind kind = ReduceKind::Sum;
  std::vector<const Entity*> ranges;  ///< in the order of the list; the last walks fastest
  Scalar accumulator = Scalar::F32;
  /// The whole value of `v += dot(…)`, v a var, with two ranges or more in the result: one chain of fmas into v.
  bool in_place = false;
  bool reversed = false;   ///< a scan from the last element to the first
  bool exclusive = false;  ///< a scan that leaves each element itself out
};

enum class RangeField : uint8_t { Start, Size, Index };

/// `q.push(tile, i, j)` or `q.pop(i, j)`.
struct PipeInfo {
  bool pushes = false;
  const Entity* pipe = nullptr;
  const syntax::Expr* tile = nullptr;  ///< of a push
  std::vector<const Entity*> ranges;   ///< by position, each once
};

/// What a call gives a fn besides its arguments.
struct CallInfo {
  std::vector<const Entity*> ranges;  ///< the caller's, for each of callee->ranges
  /// For each int generic, then each of callee->dims, in the caller's sizes.
  std::vector<Size> sizes;
};

/// What is known of an expression. Fields that do not apply are null.
/// How irgen reads it: `constant` first (the whole expression is that constant), then `size` (it is that size, as
/// `type.scalar`), then the kind of the expression:
///   Name    entity (a Range: only inside an index or a contract, there it is its absolute indices,
///           an i64 tile) or builtin (core_id, core_num)
///   Call    builtin and, where that is elementary, callee; else callee, a fn, and call. The
///           operands have one scalar type (of a fn: those of its parameters) and broadcast to
///           `type.ranges`;
///           iota: entity is the range; clamp and the like: see builtins.def;
///           a push or pop: pipe
///   Field   entity is the range, field what is asked of it; of a tuple neither: the part of that number
///   Index   index, or of a tile part; an assigned one has the var as its entity; as a tensor of a program slice, and the
///           tensor that is named as its entity
///   Reduce  reduce; reduce and scan: callee is the fn
///   Cast    as written; of tf32 the operand's type, rounded (IsTf32)
///   Binary, Unary, If: as written; the operands of a Binary have one scalar type.
/// Floats below f32 as types of expressions compute in f32 and round when bound, stored or cast.
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
  const CallInfo* call = nullptr;  ///< of a fn that has ranges, sizes or pipes
  RangeField field = RangeField::Start;
  Scalar pattern = Scalar::F64;  ///< in a contract of bits, from_bits and `as`: the type outside it
};

/// Whether the cast is `as tf32`.
bool IsTf32(const syntax::CastExpr& cast);

/// A dimension of a kernel's argument that has to be equal at launch, unless both are one Size.
struct DimCheck {
  uint32_t param = 0;
  uint32_t dim = 0;
  Size formal = nullptr;  ///< in the caller's sizes
  Size actual = nullptr;
};
struct GenericBinding {
  const Entity* generic = nullptr;  ///< an IntGeneric of the callee
  Size value = nullptr;             ///< in the caller's sizes; null: `auto`
};
/// `spmd(core_num = n) on d.queue(0) kernel<…>(args);`, or a call of a program, which is bound in the same way.
struct LaunchInfo {
  const CheckedFunction* kernel = nullptr;
  std::vector<const syntax::Expr*> args;  ///< by parameter; a tensor's is a Name, or has a slice
  std::vector<const Entity*> moves;  ///< by parameter: to which device the source moves it; or null
  std::vector<GenericBinding> generics;  ///< those that the call gives, by name or by a size
  std::vector<Size> dims;                ///< kernel->dims in the caller's sizes
  std::vector<DimCheck> checks;
  const syntax::Expr* core_num = nullptr;  ///< null: auto
  const Entity* device = nullptr;          ///< null: the default
  std::vector<const syntax::Expr*> queues;
};

/// `copy(from, to);` and `swap(a, b);`.
struct TensorCallInfo {
  bool swaps = false;
  const syntax::Expr* from = nullptr;  ///< as the argument of a launch, as `to`
  const syntax::Expr* to = nullptr;
};

/// Let: entities = {the Let, Var or LocalTensor}; For: its binders in order, each a Range or a
/// ScalarBinder; Range, Domain, Pipe, Stage: what it declares. An assignment's target is described by its expression: a Name
/// with a Var, or an Index; its `type` is what the value is broadcast to.
struct ExpectInfo;
struct StmtInfo {
  std::vector<const Entity*> entities;
  bool is_dynamic = false;  ///< `spmd for`: a core that is free takes the next block
  bool is_grouped = false;  ///< `spmd for`: a core takes whole groups of blocks
  int64_t ahead =
      0;  ///< `for`: turns ahead of theirs in which copies begin; 0: nothing says how many
  const LaunchInfo* launch = nullptr;
  const syntax::Expr* seed = nullptr;  ///< `let x = random(f32[N], seed);`: of the tensor
  const syntax::Expr* fill = nullptr;  ///< `let h: f32[N] = 0.0;`: of each element
  const ExpectInfo* expect = nullptr;
  const TensorCallInfo* tensors = nullptr;
};

/// A size name of the parameters, in the order of first use.
struct DimInfo {
  const Entity* entity = nullptr;  ///< a SizeName
  /// Its first bare use, `in` and `inout` parameters before `out` ones.
  std::optional<uint32_t> param;
  uint32_t dim = 0;
  bool only_out = false;  ///< no `in` or `inout` parameter uses it bare
};
/// `lhs op rhs`, checked at launch; op is a comparison.
struct WhereInfo {
  syntax::BinaryOp op = syntax::BinaryOp::Eq;
  Size lhs = nullptr;
  Size rhs = nullptr;
  const syntax::Expr* expr = nullptr;
  Name defined;  ///< the size name that `expr` defines, which is compared with 0; else empty
};
struct TypeBinding {
  const Entity* generic = nullptr;  ///< a TypeGeneric
  Scalar scalar = Scalar::F32;
};
struct IntGenericInfo {
  const Entity* entity = nullptr;
  std::vector<int64_t> values;   ///< from -D (each a variant), else the default; empty: none
  bool is_auto = false;          ///< the default is `auto` and -D gives nothing
  std::vector<int64_t> choices;  ///< of `in {…}`; empty: any
  bool is_faulty = false;        ///< what -D gives is no value, as reported
  bool in_type = false;          ///< stands in a tensor type: taken from the data where not given
  /// The values among which a launch selects whose own is known when it runs; empty: there are none.
  const std::vector<int64_t>& Candidates() const;
};
struct ParamInfo {
  const Entity* entity = nullptr;  ///< a TensorParam, ScalarParam, TileParam or Pipe, with its type
  syntax::Direction direction = syntax::Direction::In;
};

/// One equation of `ensures`. The free names are Range entities whose `domain` is their extent.
struct EquationInfo {
  const syntax::Equation* equation = nullptr;
  const Entity* defined = nullptr;     ///< an Auxiliary; null where the equation compares
  std::vector<const Entity*> indices;  ///< of an Auxiliary: those of the left side, by dimension
  std::vector<const Entity*> free;     ///< all free names, `over` ones not among them
};
struct RequirementInfo {
  const syntax::Expr* condition = nullptr;
  std::vector<const Entity*> free;
};
/// `expect` of a test: one of the two.
struct ExpectInfo {
  std::optional<EquationInfo> equation;
  std::optional<RequirementInfo> condition;
};

/// A fn, kernel or program for one choice of the kinds of its type generics.
/// In contracts every float is an f64 and every integer an i64.
struct CheckedFunction {
  const syntax::FunctionItem* item = nullptr;
  const Entity* entity = nullptr;
  std::vector<TypeBinding> types;
  std::vector<IntGenericInfo> generics;
  std::vector<DimInfo> dims;
  std::vector<ParamInfo> params;
  std::vector<const Entity*> ranges;  ///< of a fn: those of its tiles, in the order of first use
  Type result;                        ///< of a fn; Nothing where it has none
  std::vector<WhereInfo> where;
  std::vector<RequirementInfo> requirements;
  std::vector<EquationInfo> ensures;
  std::vector<const Entity*> entities;  ///< all that it declares, in source order
  /// Of a program: numbers that sizes of its tensors are made of. Each is its own size name.
  std::unordered_set<const Entity*> sizes;
  bool imported = false;           ///< of another file: only where something uses it
  bool left_out = false;           ///< -D names other kinds: only where something launches it
  bool is_launched = false;        ///< of one that is left out
  bool is_checked = false;         ///< its body was seen
  std::string_view prefix;         ///< its file's: `std::nn::`; empty: the compiled file
  const Entity* device = nullptr;  ///< an imported file's only one, else null

  std::unordered_map<const syntax::Expr*, ExprInfo> exprs;
  std::unordered_map<const syntax::Stmt*, StmtInfo> stmts;

  const ExprInfo& Info(const syntax::Expr* expr) const;
  const StmtInfo& Info(const syntax::Stmt* stmt) const;
  bool HasPipes() const;
  /// The name after the file's prefix, then `.f32` for each type generic. One of a kind.
  std::string InstanceName() const;
};

struct CheckedModule {
  const syntax::Module* module = nullptr;
  std::unique_ptr<Arena> arena;  ///< owns everything that the tables point to
  /// In source order, instances in the order of their kinds; then those of other files that are used.
  std::vector<const CheckedFunction*> functions;
  std::vector<const Entity*> devices;  ///< in source order
};

/// `-D NAME=VALUE,VALUE`.
struct Define {
  std::string name;
  std::vector<std::string> values;
  std::string function = {};  ///< whose parameter alone it is; empty: that of every function
};
struct CheckOptions {
  std::vector<Define> defines;
};

/// A parsed file, and the files that its imports name, in the order of its import items. No file reaches itself.
struct SourceFile {
  const syntax::Module* module = nullptr;
  std::string path;  ///< as imports write it, `std.nn`; of the file that is compiled: empty
  std::vector<const SourceFile*> imports;
};

/// Checks every item of `file`. `library` holds the files of the standard library that define the
/// elementary functions; of them and of imported files only what `file` reaches is checked. Sizes are
/// made in `sizes`, which must outlive the result, as must the trees and files.
CheckedModule Check(const SourceFile& file, std::span<const syntax::Module* const> library,
                    const SourceManager& sources, SizeTable& sizes, const CheckOptions& options,
                    DiagnosticEngine& diagnostics);

}  // namespace kdl::sema
