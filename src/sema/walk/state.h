#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sema/diagnostics.h"
#include "sema/model/checked.h"
#include "sema/model/literal.h"
#include "sema/model/scopes.h"

namespace kdl::sema {

/// The items of a file: the compiled file, an imported file, or the whole library of elementary
/// functions.
struct FileState {
  std::string prefix;  ///< of its functions' names, `std::nn::`; empty for the compiled file
  Scope items;
};

/// A fn, kernel or program of a module, with one instance for each choice of types.
struct FunctionGroup {
  const Entity* entity = nullptr;
  const syntax::FunctionItem* item = nullptr;
  const FileState* file = nullptr;
  bool signatures_done = false;
  bool is_opaque = false;  ///< its parameters have errors, so the body is not checked
  std::vector<CheckedFunction*> instances;
  std::vector<DiagnosticEngine*> reports;  ///< one for each instance, in the same order
  /// The functions that the body calls, with the position of the first call.
  std::vector<std::pair<FunctionGroup*, Span>> calls;
};

/// A `const` and the file whose names its value may use.
struct ConstSource {
  const syntax::ConstItem* item = nullptr;
  const FileState* file = nullptr;
};

/// State shared by the check of a module, including the parts of other files that it uses.
struct ModuleState {
  ModuleState(Arena& a, SizeTable& z, const SourceManager& s, const CheckOptions& o,
              DiagnosticEngine& d)
      : arena(a), sizes(z), sources(s), options(o), diagnostics(d) {}

  Arena& arena;
  SizeTable& sizes;
  const SourceManager& sources;
  const CheckOptions& options;
  DiagnosticEngine& diagnostics;

  FileState* file = nullptr;  ///< the compiled file
  std::unordered_map<const SourceFile*, FileState*> imported;
  std::unordered_map<std::string_view, const Entity*> library_by_text;
  std::unordered_map<const Entity*, ConstSource> const_items;
  std::unordered_map<const Entity*, Literal> const_values;  ///< those evaluated so far
  std::unordered_set<const Entity*> const_seen;             ///< those whose evaluation has begun
  /// Those without a value because of an error.
  std::unordered_set<const Entity*> const_failed;
  std::unordered_map<const Entity*, FunctionGroup*> groups;
  /// Functions whose bodies are used, from other files or excluded by -D.
  std::vector<FunctionGroup*> pending_bodies;
  size_t errors_in_functions = 0;
  bool has_stopped = false;  ///< because there were too many errors
};

/// The check of a file stops after this many errors.
inline constexpr size_t kMaxErrors = 200;

/// A dependence of a variable's value: on `value`, or on a condition around an assignment to it.
struct Influence {
  const Entity* variable = nullptr;
  const syntax::Expr* value = nullptr;
};

/// The position of a `spmd for` or `sync`, and a condition around it.
struct UniformPlace {
  const syntax::Expr* condition = nullptr;
  Span span;
  bool is_sync = false;
};

/// A loop that encloses the current statement.
struct LoopState {
  bool is_spmd = false;
  /// Number of conditions around its body, including its own bounds.
  size_t conditions = 0;
  size_t influences = 0;                   ///< number of influences recorded before it
  std::vector<const syntax::Expr*> jumps;  ///< conditions inside it that enclose its jumps
  std::vector<UniformPlace> places;        ///< places inside it that all cores must reach
};

/// An index of a dimension that is an index name, possibly plus a constant.
struct BareUse {
  const Entity* range = nullptr;
  const Entity* base = nullptr;
  size_t dim = 0;
  int64_t offset = 0;
  /// Has an `else`; determines the name's extent only if no other use does.
  bool may_leave = false;
  Span span;
};
/// The index names of one equation or requirement.
struct ContractState {
  std::vector<BareUse> uses;
  std::vector<Entity*> free;
  std::vector<Entity*> over;                         ///< the names of `over` lists
  std::vector<const Entity*> folded;                 ///< names that called fns reduce over
  std::unordered_map<const Entity*, Span> bound_at;  ///< the use that determined the extent
  /// Number of scopes around that of the equation.
  size_t depth = 0;
  /// Number of errors reported before the equation.
  size_t errors_before = 0;
  bool is_requirement = false;  ///< a `requires`: the state before the launch
};

/// A read of a tensor by a program.
struct TensorRead {
  const Entity* tensor = nullptr;
  Span span;
};

/// A read, inside a loop, of a tensor that was declared outside and has not been written so far.
struct UndefinedRead {
  const Entity* tensor = nullptr;
  Span span;
  std::string_view reader;  ///< a kernel or program; empty for the host
};

/// The stage and the position of some action.
struct StageUse {
  const Entity* stage = nullptr;  ///< null if there is none
  Span span;
};
/// The uses of a tensor in stages: the first access and the first write.
struct TensorUses {
  StageUse first;
  bool first_writes = false;
  StageUse written;
  bool reported = false;
};
/// What the stages of a kernel do, up to the current statement.
struct StageState {
  const Entity* current = nullptr;                     ///< the enclosing stage, or null
  const syntax::StageStmt* stmt = nullptr;             ///< the statement of that stage
  std::unordered_map<const Entity*, StageUse> pushes;  ///< the first one for each pipe, as in pops
  std::unordered_map<const Entity*, StageUse> pops;
  std::unordered_map<const Entity*, TensorUses> tensors;
};

/// The state of the check of one function.
struct FunctionState {
  FunctionState(ModuleState& m, FunctionGroup& g, CheckedFunction& f, DiagnosticEngine& d,
                const Scope& items)
      : module(m), group(g), fn(f), diagnostics(d), scopes(&items) {}

  ModuleState& module;
  FunctionGroup& group;
  CheckedFunction& fn;
  DiagnosticEngine& diagnostics;
  Scopes scopes;
  std::unordered_map<const syntax::Expr*, Literal> literals;
  /// Operands of the dots that have been checked.
  std::unordered_set<const syntax::Expr*> dot_operands;
  std::unordered_set<const Entity*> core_dependent;  ///< lets and vars that differ by core
  std::vector<Influence> influences;                 ///< for the lets and vars of a kernel
  std::vector<const syntax::Expr*> conditions;       ///< enclosing conditions and loop bounds
  /// Lets and vars that differ by core, or come from memory that other cores may write.
  std::unordered_set<const Entity*> varying;
  /// Conditions around places that every core must reach.
  std::vector<UniformPlace> uniform;
  const syntax::ForStmt* spmd_loop = nullptr;  ///< the enclosing one, or null
  /// For each `spmd for`: the tensors that it reduces into, with the first such statement.
  std::unordered_map<const syntax::ForStmt*,
                     std::unordered_map<const Entity*, const syntax::AssignStmt*>>
      reduced;
  std::vector<const syntax::ForStmt*> dynamic;  ///< each `spmd for` with `@dynamic`
  std::unordered_set<const Entity*> written;    ///< tensors that may have been written
  std::vector<UndefinedRead> undefined_reads;
  std::vector<TensorRead> tensor_reads;  ///< reads of tensors whose elements start undefined
  /// For local tensors: number of enclosing loops.
  std::unordered_map<const Entity*, int> loop_depth_of;
  /// For lets and vars: number of enclosing scopes.
  std::unordered_map<const Entity*, size_t> depth_of;
  std::vector<LoopState> loops;       ///< enclosing loops, innermost last
  ContractState* contract = nullptr;  ///< null outside contracts
  StageState stages;
  size_t block_depth = 0;  ///< number of enclosing blocks; 1 in the function's own
  int range_values = 0;    ///< if above 0, a range means its indices
  /// Parts of the current index that have been checked as values. Expressions that contain them do
  /// not check them again.
  std::unordered_set<const syntax::Expr*> index_parts;
  /// The dimension that is being indexed, if the index is a single name; or null.
  Size indexed = nullptr;
  int loop_depth = 0;
  bool has_stopped = false;  ///< because there were too many errors
  int divergent = 0;         ///< number of enclosing ifs and loops that differ by core
  int core_zero = 0;         ///< number of enclosing ifs that are true only on core 0
  size_t spmd_depth = 0;     ///< number of scopes around the body of `spmd for`; 0 outside
  bool in_const = false;
  bool in_signature = false;  ///< while the sizes are being bound

  std::string_view Text(Span span) const { return module.sources.text(span); }
  syntax::FunctionKind kind() const {
    return fn.item != nullptr ? fn.item->function_kind : syntax::FunctionKind::Fn;
  }
};

}  // namespace kdl::sema
