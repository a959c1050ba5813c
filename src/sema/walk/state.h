#pragma once

#include <set>
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

/// The items of a file. The file is the compiled file, an imported file, or the whole library of
/// elementary functions.
struct FileState {
  /// The prefix of its functions' names, such as `std::nn::`; empty for the compiled file.
  std::string prefix;
  Scope items;
};

/// The fns that a function parameter may be.
struct FunctionChoices {
  const syntax::GenericParam* generic = nullptr;
  std::vector<const Entity*> allowed;  ///< those of `in {…}`; empty if every fn is allowed
  const Entity* fallback = nullptr;    ///< the default, or null
  bool is_faulty = false;              ///< its declaration has an error
};

/// The call or launch for which an instance was made, and the origin of the instance that contains it.
struct InstanceOrigin {
  Span span;
  const InstanceOrigin* outer = nullptr;  ///< null if that instance was not made for a call
};

/// A fn, kernel or program of a module, with one instance for each choice of types.
struct FunctionGroup {
  const Entity* entity = nullptr;
  const syntax::FunctionItem* item = nullptr;
  const FileState* file = nullptr;
  bool signatures_done = false;
  bool names_done = false;  ///< the names in branches for other types have been checked
  bool is_opaque = false;   ///< the body is not checked, because the parameters have errors
  /// The types that each type parameter allows, in the order of the parameters.
  std::vector<std::vector<Scalar>> kinds;
  std::vector<FunctionChoices> functions;  ///< one for each function parameter
  bool is_lazy = false;  ///< instances are also made where other types or fns are used
  std::vector<CheckedFunction*> instances;
  std::vector<DiagnosticEngine*> reports;  ///< one for each instance, in the order of the instances
  /// For instances that were made where they are used: by which call.
  std::unordered_map<const CheckedFunction*, const InstanceOrigin*> origins;
  /// The functions that the body calls, each with the position of its first call.
  std::vector<std::pair<FunctionGroup*, Span>> calls;
};

/// A `const`, and the file whose names its value may use.
struct ConstSource {
  const syntax::ConstItem* item = nullptr;
  const FileState* file = nullptr;
};

/// A `types` item, the file whose names it may use, and the types that it contains.
struct TypeListSource {
  const syntax::TypesItem* item = nullptr;
  const FileState* file = nullptr;
  bool is_seen = false;       ///< its evaluation has begun
  bool is_evaluated = false;  ///< its evaluation has ended
  std::vector<Scalar> types;  ///< empty after an error
};

/// The state while a module is checked, including the parts of other files that the module uses.
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
  std::unordered_map<const Entity*, TypeListSource> type_lists;
  /// The values of the constants that have been evaluated so far.
  std::unordered_map<const Entity*, Literal> const_values;
  std::unordered_set<const Entity*> const_seen;  ///< the constants whose evaluation has begun
  /// The constants that have no value because of an error.
  std::unordered_set<const Entity*> const_failed;
  std::unordered_map<const Entity*, FunctionGroup*> groups;
  NameUses uses;  ///< of names that functions declare or use
  /// Functions whose bodies must still be checked because something uses them. They come from other files
  /// or are excluded by -D.
  std::vector<FunctionGroup*> pending_bodies;
  size_t errors_in_functions = 0;
  bool has_stopped = false;  ///< the check has stopped because there were too many errors
};

/// The check of a file stops after this many errors.
inline constexpr size_t kMaxErrors = 200;

/// A dependence of a variable's value on `value`, which is an assigned value, or a condition that encloses an
/// assignment.
struct Influence {
  const Entity* variable = nullptr;
  const syntax::Expr* value = nullptr;
};

/// The position of an `spmd for` or `sync`, and a condition that encloses it.
struct UniformPlace {
  const syntax::Expr* condition = nullptr;
  Span span;
  bool is_sync = false;
};

/// A loop that encloses the current statement.
struct LoopState {
  bool is_spmd = false;
  /// The number of conditions that enclose the loop's body, including the loop's own bounds.
  size_t conditions = 0;
  size_t influences = 0;  ///< the number of influences that were recorded before the loop
  /// Conditions inside the loop that enclose a jump of the loop.
  std::vector<const syntax::Expr*> jumps;
  std::vector<UniformPlace> places;  ///< places inside the loop that all cores must reach
};

/// An index that consists of an index name and possibly a constant.
struct BareUse {
  const Entity* range = nullptr;
  const Entity* base = nullptr;
  size_t dim = 0;
  int64_t offset = 0;
  /// Whether the access has an `else`. Such a use determines the name's extent only if no other use does.
  bool may_leave = false;
  Span span;
};
/// The index names of one equation or requirement.
struct ContractState {
  std::vector<BareUse> uses;
  std::vector<Entity*> free;
  std::vector<Entity*> over;                         ///< the names of `over` lists
  std::vector<const Entity*> folded;                 ///< the names over which called fns reduce
  std::unordered_map<const Entity*, Span> bound_at;  ///< the use that determined the extent
  /// The number of scopes that enclose the scope of the equation.
  size_t depth = 0;
  /// The number of errors that were reported before the equation.
  size_t errors_before = 0;
  bool is_requirement = false;  ///< a `requires`, which is about the state before the launch
};

/// A read of a tensor by a program.
struct TensorRead {
  const Entity* tensor = nullptr;
  Span span;
};

/// A read, inside a loop, of a tensor that was declared outside of the loop and has not been written
/// so far.
struct UndefinedRead {
  const Entity* tensor = nullptr;
  Span span;
  std::string_view reader;  ///< the name of a kernel or program; empty for the host
};

/// The position of a use, and the stage that contains it.
struct StageUse {
  const Entity* stage = nullptr;  ///< null outside of stages
  Span span;
};
/// The uses of a tensor in stages: the first access and the first write.
struct TensorUses {
  StageUse first;
  bool first_writes = false;
  StageUse written;
  bool reported = false;
};
/// What the stages of a kernel use, up to the current statement.
struct StageState {
  const Entity* current = nullptr;                     ///< the enclosing stage, or null
  const syntax::StageStmt* stmt = nullptr;             ///< the statement that declares that stage
  std::unordered_map<const Entity*, StageUse> pushes;  ///< the first push to each pipe
  std::unordered_map<const Entity*, StageUse> pops;    ///< the first pop from each pipe
  std::unordered_map<const Entity*, TensorUses> tensors;
};

/// The state while one function is checked.
struct FunctionState {
  FunctionState(ModuleState& m, FunctionGroup& g, CheckedFunction& f, DiagnosticEngine& d,
                const Scope& items)
      : module(m), group(g), fn(f), diagnostics(d), scopes(&items, &m.uses) {}

  ModuleState& module;
  FunctionGroup& group;
  CheckedFunction& fn;
  DiagnosticEngine& diagnostics;
  Scopes scopes;
  /// The unknown names that have been reported, each with whether it was used in a contract.
  std::set<std::pair<std::string_view, bool>> unknown_names;
  std::unordered_map<const syntax::Expr*, Literal> literals;
  /// The operands of the `dot` reductions that have been checked.
  std::unordered_set<const syntax::Expr*> dot_operands;
  /// Lets and vars whose values differ between cores.
  std::unordered_set<const Entity*> core_dependent;
  std::vector<Influence> influences;            ///< dependences of the lets and vars of a kernel
  std::vector<const syntax::Expr*> conditions;  ///< enclosing conditions and loop bounds
  /// Lets and vars whose values differ between cores, or come from memory that other cores may write.
  std::unordered_set<const Entity*> varying;
  /// Places that every core must reach, each with a condition that encloses it.
  std::vector<UniformPlace> uniform;
  const syntax::ForStmt* spmd_loop = nullptr;  ///< the enclosing `spmd for`, or null
  /// For each `spmd for`: the tensors into which it reduces, each with the first `reduce` statement for it.
  std::unordered_map<const syntax::ForStmt*,
                     std::unordered_map<const Entity*, const syntax::AssignStmt*>>
      reduced;
  std::vector<const syntax::ForStmt*> dynamic;  ///< all `spmd for` loops with `@dynamic`
  std::unordered_set<const Entity*> written;    ///< tensors that may have been written
  std::vector<UndefinedRead> undefined_reads;
  std::vector<TensorRead> tensor_reads;  ///< reads of tensors whose elements are undefined at first
  /// For local tensors: the number of loops that enclose the declaration.
  std::unordered_map<const Entity*, int> loop_depth_of;
  /// For lets and vars: the number of scopes that enclose the declaration.
  std::unordered_map<const Entity*, size_t> depth_of;
  std::vector<LoopState> loops;       ///< enclosing loops, innermost last
  ContractState* contract = nullptr;  ///< null outside contracts
  StageState stages;
  /// The number of enclosing blocks; 1 in the outermost block of the function.
  size_t block_depth = 0;
  int range_values = 0;  ///< if above 0, the name of a range means its absolute indices
  /// Parts of the current index that have already been checked as values. They are not checked again when an
  /// expression that contains them is checked.
  std::unordered_set<const syntax::Expr*> index_parts;
  /// If the current index is a single name, the size of the dimension that it indexes; otherwise null.
  Size indexed = nullptr;
  int loop_depth = 0;
  bool has_stopped = false;  ///< the check has stopped because there were too many errors
  /// The number of enclosing ifs and loops whose conditions differ between cores.
  int divergent = 0;
  int core_zero = 0;  ///< the number of enclosing ifs whose conditions are true only on core 0
  /// The number of scopes that enclose the body of the enclosing `spmd for`; 0 outside.
  size_t spmd_depth = 0;
  bool in_const = false;
  bool in_signature = false;  ///< true while the sizes of the signature are being bound

  std::string_view Text(Span span) const { return module.sources.text(span); }
  syntax::FunctionKind kind() const {
    return fn.item != nullptr ? fn.item->function_kind : syntax::FunctionKind::Fn;
  }
};

}  // namespace kdl::sema
