#include "sema/programs/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sema/accesses/slice.h"
#include "sema/accesses/tensor_effects.h"
#include "sema/functions/groups.h"
#include "sema/functions/optional_params.h"
#include "sema/programs/packs.h"
#include "sema/types/coerce.h"
#include "sema/types/size_arithmetic.h"
#include "sema/types/sizes.h"
#include "sema/walk/expr.h"
#include "sema/walk/imports.h"
#include "sema/walk/quote.h"
#include "sema/walk/resolve.h"

namespace kdl::sema {

namespace {

constexpr int64_t kLastQueue = 63;

using syntax::CallExpr;
using syntax::Expr;
using syntax::LaunchStmt;
using syntax::Param;

/// Returns the tensor that an argument names, or reports an error and returns null.
const Entity* TensorArg(FunctionState& state, const Expr* arg, const Param& param) {
  const auto* move = syntax::DynAs<syntax::MoveExpr>(arg);
  Type type = CheckTensor(state, move != nullptr ? move->operand : arg);
  if (move != nullptr) state.fn.exprs[arg] = state.fn.exprs[move->operand];
  if (type.is_error()) return nullptr;
  const Entity* entity = state.fn.exprs[arg].entity;
  if (type.is_tensor() && entity != nullptr) return entity;
  state.diagnostics
      .Report(diag::NotATensorArgument, arg->span, Quote(state, arg), param.name.name.text())
      .Note(param.span, "the parameter is declared here");
  return nullptr;
}

struct Args {
  bool ok = true;
  /// For each parameter, the tensor that the argument names; null for a scalar and for `none`.
  std::vector<const Entity*> tensors;
  std::vector<const Entity*> moves;  ///< for each parameter, the device after `to`, or null
  std::vector<bool> absent;          ///< for each parameter: whether the argument is `none`
};

/// Returns whether the argument is the word `none`, which is passed for an optional parameter that is absent.
bool IsNone(const FunctionState& state, const Expr* arg) {
  const auto* name = syntax::DynAs<syntax::NameExpr>(arg);
  return name != nullptr && name->name.text() == "none" && state.scopes.Find(name->name) == nullptr;
}

/// Reports `none` for a parameter that is not optional. Returns false in that case.
bool MayBeNone(FunctionState& state, const Expr* arg, const Param& param,
               const FunctionGroup& group) {
  if (param.is_optional) return true;
  state.diagnostics
      .Report(diag::NotOptional, arg->span, param.name.name.text(), group.item->name.name.text())
      .Note(param.span, "the parameter is declared here");
  return false;
}

Args CheckArgs(FunctionState& state, const CallExpr& call, const FunctionGroup& group) {
  const std::vector<Param>& params = group.item->params;
  Args args;
  if (call.args.size() != params.size()) {
    state.diagnostics
        .Report(diag::ArgumentCount, call.span, call.callee.name.text(),
                Counted(params.size(), "argument"), call.args.size())
        .Note(group.item->name.span, "declared here");
    args.ok = false;
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    const syntax::Arg& arg = call.args[i];
    if (arg.name) {
      state.diagnostics.Report(diag::NamedArgument, arg.name.span, call.callee.name.text());
      args.ok = false;
    }
    bool tensor = i < params.size() && params[i].type->has_brackets;
    args.absent.push_back(tensor && IsNone(state, arg.value));
    if (args.absent.back()) {
      args.moves.push_back(nullptr);
      args.tensors.push_back(nullptr);
      args.ok = MayBeNone(state, arg.value, params[i], group) && args.ok;
      continue;
    }
    const auto* move = tensor ? syntax::DynAs<syntax::MoveExpr>(arg.value) : nullptr;
    args.moves.push_back(move != nullptr ? ResolveDevice(state, move->device) : nullptr);
    args.ok = args.ok && (move == nullptr || args.moves.back() != nullptr);
    if (tensor) {
      args.tensors.push_back(TensorArg(state, arg.value, params[i]));
      args.ok = args.ok && args.tensors.back() != nullptr;
    } else {
      args.tensors.push_back(nullptr);
      args.ok = !CheckValue(state, arg.value).is_error() && args.ok;
    }
  }
  return args;
}

/// Returns the callee's instance for the element types of the arguments, and for those that are `none`.
CheckedFunction* ChooseInstance(FunctionState& state, const CallExpr& call,
                                const FunctionGroup& group, const Args& args) {
  if (!NamesEachOnce(state, call)) return nullptr;
  std::vector<KindChoice> choices;
  size_t errors = state.diagnostics.error_count();
  for (const syntax::Arg& generic : call.generics) {
    if (RankedPack(*group.item, generic.name.name) != nullptr) continue;
    if (auto choice = NamedKind(state, group, generic)) choices.push_back(*choice);
  }
  if (state.diagnostics.error_count() != errors) return nullptr;
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Type& type = state.fn.exprs[call.args[i].value].type;
    if (type.is_literal() || args.absent[i]) continue;
    choices.push_back({syntax::PlainName(group.item->params[i].type->name), type.scalar,
                       call.args[i].value->span});
  }
  std::vector<OptionalInfo> optionals;
  const std::vector<Param>& params = group.item->params;
  for (const Param* param : OptionalParams(*group.item))
    optionals.push_back(
        {param->name.name, !args.absent[static_cast<size_t>(param - params.data())]});
  return Choose(state, group, choices, call.span, optionals);
}

/// Gives each argument `none` the type of its parameter: a tensor whose sizes are 0, which the launch allocates.
void TypeAbsent(FunctionState& state, const CallExpr& call, const CheckedFunction& kernel,
                const Args& args) {
  for (size_t i = 0; i < args.absent.size(); ++i) {
    if (!args.absent[i]) continue;
    const Entity& param = *kernel.params[i].entity;
    auto* entity = state.module.arena.Make<Entity>(Entity{});
    entity->kind = EntityKind::LocalTensor;
    entity->name = param.name;
    entity->span = call.args[i].value->span;
    entity->type = param.type;
    entity->is_absent = true;
    ExprInfo& info = state.fn.exprs[call.args[i].value];
    info.type = param.type;
    info.entity = entity;
  }
}

/// Checks the element types, ranks and directions of the arguments against the instance's parameters.
bool CheckArgTypes(FunctionState& state, const CallExpr& call, const LaunchInfo& launch,
                   const Args& args) {
  const CheckedFunction& kernel = *launch.kernel;
  bool ok = true;
  for (size_t i = 0; i < args.tensors.size(); ++i) {
    const Entity& param = *kernel.params[i].entity;
    const Expr* arg = call.args[i].value;
    if (param.type.is_error()) return false;
    if (args.absent[i]) continue;
    Type type = state.fn.exprs[arg].type;
    if (!type.is_tensor()) {
      if (!type.is_literal() && !type.ranges.empty()) ok = false;
      if (!Fits(state, arg, param.type.scalar)) {
        ok = false;
        state.diagnostics
            .Report(diag::ArgumentType, arg->span, param.name.text(), kernel.entity->name.text(),
                    Spelling(param.type.scalar), Spelling(type.scalar))
            .Help(fmt::format("write '{}'", AsHint(state, arg, param.type.scalar)));
      }
      continue;
    }
    size_t rank = SizesOfArgument(state, launch, arg, i).size();
    if (type.scalar != param.type.scalar || rank != param.type.dims.size()) {
      ok = false;
      state.diagnostics
          .Report(diag::TensorType, arg->span, Quote(state, arg), ToString(type), param.name.text(),
                  kernel.entity->name.text(), ToString(param.type))
          .Note(args.tensors[i]->span,
                fmt::format("'{}' is declared here", args.tensors[i]->name.text()))
          .Note(param.span, fmt::format("'{}' is declared here", param.name.text()));
    }
  }
  return ok;
}

/// Returns whether the size depends on an integer parameter of the program. If so, the size is known when the
/// program is compiled, because there is a variant of the program for each value of the parameter.
bool IsHandedOn(const FunctionState& state, Size size) {
  if (size->kind == SizeKind::Symbol) {
    return std::ranges::any_of(state.fn.generics, [&](const IntGenericInfo& info) {
      return info.entity->name == size->symbol;
    });
  }
  return size->lhs != nullptr && (IsHandedOn(state, size->lhs) || IsHandedOn(state, size->rhs));
}

/// The values of the callee's sizes and integer parameters, expressed by the caller's sizes.
using Binding = std::unordered_map<Name, Size>;

void BindGenerics(FunctionState& state, const CallExpr& call, LaunchInfo& launch,
                  Binding& binding) {
  for (const syntax::Arg& arg : call.generics) {
    auto same = [&](const IntGenericInfo& info) { return info.entity->name == arg.name.name; };
    const std::vector<IntGenericInfo>& generics = launch.kernel->generics;
    auto found = std::find_if(generics.begin(), generics.end(), same);
    if (found == generics.end()) continue;
    if (arg.value->kind == syntax::ExprKind::AutoLit) {
      launch.generics.push_back({found->entity, nullptr});
      continue;
    }
    Size size = CheckSize(state, arg.value, "the value of an integer parameter");
    if (size == nullptr) continue;
    bool is_choice = found->choices.empty() || !IsConstant(size) ||
                     std::find(found->choices.begin(), found->choices.end(), size->value) !=
                         found->choices.end();
    if (!is_choice) {
      state.diagnostics.Report(diag::DefaultChoice, arg.value->span, size->value,
                               arg.name.name.text());
    }
    bool is_kernel = launch.kernel->entity->kind == EntityKind::Kernel;
    bool is_late = !IsConstant(size) && found->Candidates().empty() && !IsHandedOn(state, size);
    if (is_kernel && is_late) {
      std::string_view name = arg.name.name.text();
      state.diagnostics
          .Report(diag::GenericKnownLate, arg.value->span, Quote(state, arg.value), name,
                  launch.kernel->entity->name.text())
          .Note(found->entity->span, "declared here")
          .Help(fmt::format("list its possible values, `{0}: int in {{32, 64}}`, or give them with "
                            "-D {0}=32,64",
                            name));
    }
    launch.generics.push_back({found->entity, size});
    binding[arg.name.name] = size;
  }
}

/// The dimension that first determined the value of a symbol, for messages.
struct Origin {
  size_t arg = 0;
  size_t dim = 0;
};

/// Binds the sizes and integer parameters of the callee. If a dimension of a parameter consists of just a
/// name, that name gets the size of the argument's dimension.
std::map<Name, Origin> BindSizes(FunctionState& state, const CallExpr& call, LaunchInfo& launch,
                                 Binding& binding) {
  std::map<Name, Origin> origins;
  for (size_t i = 0; i < launch.kernel->params.size(); ++i) {
    const Type& formal = launch.kernel->params[i].entity->type;
    const std::vector<Size>& actual = SizesOfArgument(state, launch, call.args[i].value, i);
    for (size_t d = 0; d < formal.dims.size(); ++d) {
      if (formal.dims[d]->kind != SizeKind::Symbol) continue;
      Name symbol = formal.dims[d]->symbol;
      if (!binding.emplace(symbol, actual[d]).second) continue;
      origins[symbol] = {i, d};
      for (const IntGenericInfo& generic : launch.kernel->generics) {
        if (generic.entity->name == symbol) {
          launch.generics.push_back({generic.entity, actual[d]});
        }
      }
    }
  }
  return origins;
}

/// Returns a size of the callee, expressed by the caller's sizes. Returns null if a symbol in it has
/// no value.
Size Translate(SizeTable& sizes, Size size, const Binding& binding) {
  bool known = true;
  Size result = sizes.Substitute(size, [&](Name name) -> Size {
    auto found = binding.find(name);
    known = known && found != binding.end();
    return found == binding.end() ? nullptr : found->second;
  });
  return known ? result : nullptr;
}

/// Binds the sizes that `where` equations define.
void BindEquations(SizeTable& sizes, const CheckedFunction& kernel, Binding& binding) {
  for (bool progress = true; progress;) {
    progress = false;
    for (const WhereInfo& where : kernel.where) {
      if (where.op != syntax::BinaryOp::Eq) continue;
      for (auto [name, other] :
           {std::pair(where.lhs, where.rhs), std::pair(where.rhs, where.lhs)}) {
        if (name->kind != SizeKind::Symbol || binding.contains(name->symbol)) continue;
        Size value = Translate(sizes, other, binding);
        if (value == nullptr) continue;
        binding[name->symbol] = value;
        progress = true;
      }
    }
  }
}

bool Mentions(Size size, Name symbol) {
  if (size->kind == SizeKind::Constant) return false;
  if (size->kind == SizeKind::Symbol) return size->symbol == symbol;
  return Mentions(size->lhs, symbol) || Mentions(size->rhs, symbol);
}

void ReportMismatch(FunctionState& state, const CallExpr& call, const LaunchInfo& launch,
                    const std::map<Name, Origin>& origins, const DimCheck& check) {
  const Entity& param = *launch.kernel->params[check.param].entity;
  Size declared = param.type.dims[check.dim];
  const Expr* arg = call.args[check.param].value;
  std::string wanted = SizeText(declared);
  if (SizeText(check.formal) != wanted) wanted += fmt::format(" = {}", SizeText(check.formal));
  Diagnostic& report = state.diagnostics.Report(
      diag::SizeMismatch, arg->span, check.dim, Quote(state, arg), SizeText(check.actual),
      param.name.text(), launch.kernel->entity->name.text(), wanted);
  for (const auto& [symbol, origin] : origins) {
    if (!Mentions(declared, symbol)) continue;
    const Entity& first = *launch.kernel->params[origin.arg].entity;
    report.Note(call.args[origin.arg].value->span,
                fmt::format("{} is dimension {} of '{}', which is {}", symbol.text(), origin.dim,
                            first.name.text(),
                            SizeText(SizesOfArgument(state, launch, call.args[origin.arg].value,
                                                     origin.arg)[origin.dim])));
  }
}

/// Compares the dimensions of arguments with those of parameters. If two sizes differ and cannot be equal,
/// reports an error; if they differ but may be equal, adds a check at launch.
void CheckSizes(FunctionState& state, const CallExpr& call, LaunchInfo& launch,
                const Binding& binding, const std::map<Name, Origin>& origins) {
  SizeTable& sizes = state.module.sizes;
  for (uint32_t i = 0; i < launch.kernel->params.size(); ++i) {
    const Type& formal = launch.kernel->params[i].entity->type;
    const std::vector<Size>& actual = SizesOfArgument(state, launch, call.args[i].value, i);
    for (uint32_t d = 0; d < formal.dims.size(); ++d) {
      Size wanted = Translate(sizes, formal.dims[d], binding);
      if (wanted == nullptr) continue;
      DimCheck check{i, d, wanted, actual[d]};
      std::optional<int64_t> difference = ConstantDifference(sizes, wanted, actual[d]);
      if (difference && *difference != 0) ReportMismatch(state, call, launch, origins, check);
      if (!difference) launch.checks.push_back(check);
    }
  }
}

/// Checks that every integer parameter has a value: a default, a value from -D, or a value from the call or
/// from the sizes of the arguments. A called program needs exactly one value, because it is inlined: unlike a
/// kernel, it does not have variants among which a launch can select.
void CheckAllGiven(FunctionState& state, const CallExpr& call, const CheckedFunction& kernel,
                   const Binding& binding) {
  bool is_program = kernel.entity->kind == EntityKind::Program;
  for (const IntGenericInfo& info : kernel.generics) {
    bool known = is_program ? info.values.size() == 1 : info.is_auto || !info.values.empty();
    if (known || info.is_faulty || binding.contains(info.entity->name)) continue;
    std::string_view name = info.entity->name.text();
    state.diagnostics.Report(diag::GenericWithoutValue, call.span, name, kernel.entity->name.text())
        .Note(info.entity->span, "declared here")
        .Help(fmt::format("write {}<{} = …>(…), or give it with -D {}=…", CalleeText(state, call),
                          name, name));
  }
}

const Expr* CheckConfig(FunctionState& state, const LaunchStmt& stmt) {
  const Expr* core_num = nullptr;
  for (const syntax::Arg& arg : stmt.config) {
    if (arg.name.name.text() != "core_num") {
      state.diagnostics.Report(diag::UnknownConfig, arg.span).Help("write `spmd(core_num = 8) …`");
      CheckExpr(state, arg.value);
      continue;
    }
    if (core_num != nullptr) state.diagnostics.Report(diag::GenericTwice, arg.span, "core_num");
    core_num = arg.value;
    if (arg.value->kind == syntax::ExprKind::AutoLit) {
      core_num = nullptr;
      continue;
    }
    if (CheckInteger(state, arg.value, "core_num").is_error()) continue;
    Size size = state.fn.exprs[arg.value].size;
    if (size != nullptr && IsConstant(size) && size->value <= 0) {
      state.diagnostics.Report(diag::NoCores, arg.value->span, size->value);
    }
  }
  return core_num;
}

void CheckPlace(FunctionState& state, const LaunchStmt& stmt, LaunchInfo& launch) {
  if (stmt.device) launch.device = ResolveDevice(state, stmt.device);
  std::set<int64_t> queues;
  for (const Expr* queue : stmt.queues) {
    if (CheckInteger(state, queue, "a queue").is_error()) continue;
    Size size = state.fn.exprs[queue].size;
    if (size == nullptr || !IsConstant(size) || size->value < 0 || size->value > kLastQueue) {
      state.diagnostics.Report(diag::QueueNumber, queue->span, Quote(state, queue));
    } else if (!queues.insert(size->value).second) {
      state.diagnostics.Report(diag::QueueTwice, queue->span, size->value);
    }
  }
  launch.queues = stmt.queues;
}

/// Returns the kernel that a launch names, or reports an error and returns null.
const Entity* LaunchedKernel(FunctionState& state, const CallExpr& call) {
  const Entity* entity = ResolveCallee(state, call);
  if (entity == nullptr || entity->kind == EntityKind::Kernel) return entity;
  Diagnostic& report = state.diagnostics.Report(diag::NotAKernel, call.callee.span,
                                                call.callee.name.text(), Describe(entity->kind));
  if (entity->kind == EntityKind::Program) {
    report.Help(fmt::format("call it without `spmd`: {}(…);", CalleeText(state, call)));
  }
  return nullptr;
}

}  // namespace

bool BindCallee(FunctionState& state, const CallExpr& call, const Entity* callee,
                LaunchInfo& launch) {
  FunctionGroup& group = Require(state.module, callee);
  if (callee->kind == EntityKind::Program) state.group.calls.emplace_back(&group, call.callee.span);
  Args args = CheckArgs(state, call, group);
  if (!args.ok || (group.instances.empty() && !group.is_lazy)) return false;
  CheckedFunction* chosen = ChooseInstance(state, call, group, args);
  launch.kernel = chosen;
  if (chosen == nullptr) return false;
  TypeAbsent(state, call, *chosen, args);
  if (!MergePacks(state, call, launch)) return false;
  if (!CheckArgTypes(state, call, launch, args)) return false;
  CheckEffects(state, call, *launch.kernel, args.tensors);
  Binding binding;
  size_t errors = state.diagnostics.error_count();
  BindGenerics(state, call, launch, binding);
  if (state.diagnostics.error_count() != errors) return false;
  std::map<Name, Origin> origins = BindSizes(state, call, launch, binding);
  BindEquations(state.module.sizes, *launch.kernel, binding);
  CheckAllGiven(state, call, *launch.kernel, binding);
  CheckSizes(state, call, launch, binding, origins);
  for (const DimInfo& dim : launch.kernel->dims) {
    auto found = binding.find(dim.entity->name);
    launch.dims.push_back(found == binding.end() ? nullptr : found->second);
  }
  for (const syntax::Arg& arg : call.args) {
    const auto* move = syntax::DynAs<syntax::MoveExpr>(arg.value);
    launch.args.push_back(move != nullptr ? move->operand : arg.value);
  }
  launch.moves = std::move(args.moves);
  return true;
}

namespace {

/// Checks that arguments are moved only to the device on which the launch runs.
void CheckMoves(FunctionState& state, const CallExpr& call, const LaunchInfo& launch) {
  for (size_t i = 0; i < launch.moves.size(); ++i) {
    const Entity* device = launch.moves[i];
    if (device == nullptr || launch.device == nullptr || device == launch.device) continue;
    state.diagnostics
        .Report(diag::MoveElsewhere, call.args[i].value->span, Quote(state, launch.args[i]),
                device->name.text(), launch.device->name.text())
        .Help(fmt::format("write `{}`: the launch moves what it needs",
                          Quote(state, launch.args[i])));
  }
}

}  // namespace

void CheckLaunch(FunctionState& state, const LaunchStmt& stmt) {
  const CallExpr& call = *stmt.call;
  auto* launch = state.module.arena.Make<LaunchInfo>(LaunchInfo{});
  launch->core_num = CheckConfig(state, stmt);
  CheckPlace(state, stmt, *launch);
  const Entity* kernel = LaunchedKernel(state, call);
  if (kernel == nullptr) {
    for (const syntax::Arg& arg : call.args) CheckExpr(state, arg.value);
    return AssumeWritten(state, call);
  }
  if (!BindCallee(state, call, kernel, *launch)) return AssumeWritten(state, call);
  CheckMoves(state, call, *launch);
  state.fn.stmts[&stmt].launch = launch;
}

}  // namespace kdl::sema
