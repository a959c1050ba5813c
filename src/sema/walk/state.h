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

/// The items of one file: the one that is compiled, one that it imports, or all of the library of
/// elementary functions together.
struct FileState {
  std::string prefix;  ///< before the names of its functions: `std::nn::`; empty: the compiled file
  Scope items;
};

/// What a fn, kernel or program of a module becomes: one instance for each choice of kinds.
struct FunctionGroup {
  const Entity* entity = nullptr;
  const syntax::FunctionItem* item = nullptr;
  const FileState* file = nullptr;
  bool signatures_done = false;
  bool is_opaque = false;  ///< its parameters are not built yet: the body says nothing
  std::vector<CheckedFunction*> instances;
  std::vector<DiagnosticEngine*> reports;  ///< of the instances, in the same order
  /// fns called in the body, with the first place.
  std::vector<std::pair<FunctionGroup*, Span>> calls;
};

/// A `const` and the file whose names its value may use.
struct ConstSource {
  const syntax::ConstItem* item = nullptr;
  const FileState* file = nullptr;
};

/// What the check of one module shares. The parts of other files that are reached join it.
struct ModuleState {
  ModuleState(Arena& a, SizeTable& z, const SourceManager& s, const CheckOptions& o,
              DiagnosticEngine& d)
      : arena(a), sizes(z), sources(s), options(o), diagnostics(d) {}

  Arena& arena;
  SizeTable& sizes;
  const SourceManager& sources;
  const CheckOptions& options;
  DiagnosticEngine& diagnostics;

  FileState* file = nullptr;  ///< that is compiled
  std::unordered_map<const SourceFile*, FileState*> imported;
  std::unordered_map<std::string_view, const Entity*> library_by_text;
  std::unordered_map<const Entity*, ConstSource> const_items;
  std::unordered_map<const Entity*, Literal> const_values;  ///< those evaluated so far
  std::unordered_set<const Entity*> const_seen;             ///< those whose evaluation has begun
  std::unordered_set<const Entity*> const_failed;           ///< those that have no value
  std::unordered_map<const Entity*, FunctionGroup*> groups;
  std::vector<FunctionGroup*>
      pending_bodies;  ///< with bodies that are used: of other files, or left out by -D
  size_t errors_in_functions = 0;
  bool has_stopped = false;  ///< there were too many errors
};

/// A file with more errors than this is not checked to its end.
inline constexpr size_t kMaxErrors = 200;

/// What makes the value of a variable: `value`, or a condition around its assignment.
struct Influence {
  const Entity* variable = nullptr;
  const syntax::Expr* value = nullptr;
};

/// A condition around a `spmd for` or a `sync`, and where that stands.
struct UniformPlace {
  const syntax::Expr* condition = nullptr;
  Span span;
  bool is_sync = false;
};

/// A loop around the statement.
struct LoopState {
  bool is_spmd = false;
  size_t conditions = 0;                   ///< those around it, its own bounds among them
  size_t influences = 0;                   ///< recorded before it
  std::vector<const syntax::Expr*> jumps;  ///< conditions around its jumps, within it
  std::vector<UniformPlace> places;        ///< in it, where all cores must come
};

/// An index name that alone, or with a constant added, indexes a dimension.
struct BareUse {
  const Entity* range = nullptr;
  const Entity* base = nullptr;
  size_t dim = 0;
  int64_t offset = 0;
  bool may_leave = false;  ///< has an `else`: says how far the name runs where nothing else does
  Span span;
};
/// What the index names of one equation or requirement are.
struct ContractState {
  std::vector<BareUse> uses;
  std::vector<Entity*> free;
  std::vector<Entity*> over;                         ///< those of reductions
  std::vector<const Entity*> folded;                 ///< by the fns that are called
  std::unordered_map<const Entity*, Span> bound_at;  ///< what gave them their extents
  size_t depth = 0;                                  ///< scopes around the equation's own
  size_t errors_before = 0;                          ///< those reported before the equation
  bool is_requirement = false;                       ///< speaks of what is before the launch
};

/// A read of a program's tensor.
struct TensorRead {
  const Entity* tensor = nullptr;
  Span span;
};

/// A read, in a loop, of a tensor from outside that nothing has written so far.
struct UndefinedRead {
  const Entity* tensor = nullptr;
  Span span;
  std::string_view reader;  ///< a kernel or program; empty: the host
};

/// Where a stage does something.
struct StageUse {
  const Entity* stage = nullptr;  ///< null: nowhere
  Span span;
};
/// A tensor in the stages: the first access, and the first that writes.
struct TensorUses {
  StageUse first;
  bool first_writes = false;
  StageUse written;
  bool reported = false;
};
/// What the stages of a kernel do, as far as the walk is.
struct StageState {
  const Entity* current = nullptr;                     ///< the stage around; null: none
  const syntax::StageStmt* stmt = nullptr;             ///< and its statement
  std::unordered_map<const Entity*, StageUse> pushes;  ///< the first of each pipe, as pops
  std::unordered_map<const Entity*, StageUse> pops;
  std::unordered_map<const Entity*, TensorUses> tensors;
};

/// Where in a function the walk is.
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
  std::unordered_set<const syntax::Expr*> dot_operands;  ///< those of the dots that are checked
  std::unordered_set<const Entity*> core_dependent;      ///< lets and vars that differ by core
  std::vector<Influence> influences;                     ///< of a kernel's lets and vars
  std::vector<const syntax::Expr*> conditions;           ///< conditions and bounds around
  /// Those, and what comes from memory that other cores may write.
  std::unordered_set<const Entity*> varying;
  /// Conditions around what every core comes to.
  std::vector<UniformPlace> uniform;
  const syntax::ForStmt* spmd_loop = nullptr;  ///< the one around
  /// Of each `spmd for`: the tensors that it reduces into, with the first statement.
  std::unordered_map<const syntax::ForStmt*,
                     std::unordered_map<const Entity*, const syntax::AssignStmt*>>
      reduced;
  std::vector<const syntax::ForStmt*> dynamic;  ///< each `spmd for … @dynamic`
  std::unordered_set<const Entity*> written;    ///< local tensors that a launch may have written
  std::vector<UndefinedRead> undefined_reads;
  std::vector<TensorRead> tensor_reads;  ///< of those with undefined elements at first
  std::unordered_map<const Entity*, int> loop_depth_of;  ///< local tensors: loops around them
  std::unordered_map<const Entity*, size_t> depth_of;    ///< lets and vars: scopes around them
  std::vector<LoopState> loops;                          ///< around, innermost last
  ContractState* contract = nullptr;                     ///< null outside contracts
  StageState stages;
  size_t block_depth = 0;  ///< blocks around the statement; 1: the function's own
  int range_values = 0;    ///< above 0: a range stands for its indices
  /// The parts of the index around that have been checked as values: what is made of them does not check them again.
  std::unordered_set<const syntax::Expr*> index_parts;
  Size indexed = nullptr;  ///< the dimension whose index is checked, where that is a name alone
  int loop_depth = 0;
  bool has_stopped = false;  ///< there were too many errors
  int divergent = 0;         ///< ifs and loops around that differ by core
  int core_zero = 0;         ///< ifs around that hold for core 0 only
  size_t spmd_depth = 0;     ///< scopes around the body of `spmd for`; 0: outside
  bool in_const = false;
  bool in_signature = false;  ///< sizes are being bound

  std::string_view Text(Span span) const { return module.sources.text(span); }
  syntax::FunctionKind kind() const {
    return fn.item != nullptr ? fn.item->function_kind : syntax::FunctionKind::Fn;
  }
};

}  // namespace kdl::sema
