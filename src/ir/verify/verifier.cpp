#include "ir/verify/verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "ir/op_info.h"
#include "ir/print/literals.h"
#include "ir/print/printer.h"
#include "ir/tensor_view.h"
#include "ir/verify/verify_rules.h"
#include "ir/verify/verify_types.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::ir {

namespace {

/// Returns the index of the alternative of AttrValue that stores attributes of this form.
size_t AlternativeOf(AttrForm form) {
  switch (form) {
    case AttrForm::Integer:
    case AttrForm::Flag:
    case AttrForm::BitPattern:
    case AttrForm::Enumerator:
      return 0;
    case AttrForm::Text:
    case AttrForm::Symbol:
      return 1;
    case AttrForm::Axes:
      return 2;
    case AttrForm::Access:
      return 3;
    case AttrForm::Size:
      return 4;
    case AttrForm::Elements:
      return 5;
    case AttrForm::Numbers:
      return 6;
  }
  return std::variant_npos;
}

/// Returns how an op violates its row in the op table; empty if it does not.
std::string StructureFault(const Op& op) {
  const OpInfo& info = op.info();
  for (size_t s = 0; s < info.operands.size(); ++s) {
    const OperandSpec& spec = info.operands[s];
    size_t count = op.Segment(s).size();
    if (spec.arity == Arity::One && count != 1)
      return fmt::format("{} values are given for '{}', which is a single operand", count,
                         spec.name);
    if (spec.arity == Arity::Optional && count > 1)
      return fmt::format("{} values are given for '{}', which is a single operand", count,
                         spec.name);
  }
  if (info.results != kManyResults && op.results().size() != static_cast<size_t>(info.results)) {
    return fmt::format("{} results, not {}", op.results().size(), info.results);
  }
  if (op.regions().size() != static_cast<size_t>(info.regions)) return "wrong number of regions";
  for (const AttrSpec& spec : info.attrs) {
    if (spec.required && !op.HasAttr(spec.key))
      return fmt::format("no attribute '{}'", Spelling(spec.key));
  }
  for (const Attr& attr : op.attrs()) {
    auto is_key = [&](const AttrSpec& spec) { return spec.key == attr.key; };
    if (std::none_of(info.attrs.begin(), info.attrs.end(), is_key)) {
      return fmt::format("attribute '{}' is not allowed here", Spelling(attr.key));
    }
    if (attr.value.index() != AlternativeOf(FormOf(attr.key))) {
      return fmt::format("attribute '{}' has a value of another kind", Spelling(attr.key));
    }
  }
  return "";
}

/// Returns whether a parameter of a function of this kind may have the type. A workspace may be passed
/// wherever pipes are used, but a pipe never leaves its core.
bool IsPassedTo(FunctionKind kind, Type type) {
  switch (kind) {
    case FunctionKind::Fn:
      return IsTile(type) || type->kind == TypeKind::Block || type->kind == TypeKind::Pipe ||
             type->kind == TypeKind::Workspace;
    case FunctionKind::Kernel:
      return type->kind == TypeKind::Tensor || IsScalar(type) || type->kind == TypeKind::Workspace;
    case FunctionKind::Program:
    case FunctionKind::Contract:
      return type->kind == TypeKind::Tensor || IsScalar(type);
  }
  KDL_UNREACHABLE("unknown function kind {}", static_cast<int>(kind));
}

uint32_t PlacesOf(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::Fn:
    case FunctionKind::Kernel:
      return kKernels;
    case FunctionKind::Program:
      return kPrograms | kTests;
    case FunctionKind::Contract:
      return kContracts;
  }
  KDL_UNREACHABLE("unknown function kind {}", static_cast<int>(kind));
}

std::string PlaceFault(const OpInfo& info, FunctionKind kind) {
  if (info.is_in(PlacesOf(kind))) return "";
  if ((info.places & ~PlacesOf(FunctionKind::Program)) == 0)
    return fmt::format("'{}' is not allowed outside a program", info.spelling);
  if ((info.places & ~PlacesOf(FunctionKind::Contract)) == 0)
    return fmt::format("'{}' is not allowed outside a contract", info.spelling);
  return fmt::format("'{}' is not allowed in a {}", info.spelling,
                     kind == FunctionKind::Program ? "program" : "contract");
}

/// Checks one function, keeping track of the values in scope.
class FunctionVerifier {
 public:
  FunctionVerifier(const Module& module, const Function& function, std::vector<Fault>& faults)
      : module_(module), function_(function), faults_(faults) {}

  void VerifyFunction() {
    CheckSignature();
    OpenScope(function_.body, nullptr);
    CheckRegion(function_.body, OpKind::Return);
    CheckUses();
  }

 private:
  void Report(const Op* op, std::string text) {
    faults_.push_back({&function_, op, std::move(text)});
  }
  void CheckSignature();
  void CheckNames();
  void CheckAxes();
  void CheckSize(Size size, const Op* op, std::string_view what);
  void CheckSizes(const Op* op);
  void CheckRegion(const Region* region, OpKind terminator);
  void CheckOp(const Op* op, OpKind terminator);
  void CheckTile(const Value* value, const Op* op);
  void CheckWrites(const Op* op);
  void CheckDomain(const Op* op);
  void CheckUses();
  void OpenScope(const Region* region, const Op* op);
  void Enter(Value* value, const Op* op);
  void Leave(size_t mark);

  const Module& module_;
  const Function& function_;
  std::vector<Fault>& faults_;
  std::unordered_set<const Value*> inputs_;  ///< tensors that are `in` parameters
  std::map<Name, const Op*> domains_;        ///< the first loop over each domain
  std::unordered_set<const Value*> visible_;
  std::unordered_map<uint32_t, int> blocks_;  ///< the number of blocks in scope, for each axis
  std::vector<const Value*> scope_;           ///< the visible values, innermost last
  std::vector<const Value*> defined_;
  std::unordered_map<const Value*, std::vector<Use>> used_;
};

void FunctionVerifier::CheckSize(Size size, const Op* op, std::string_view what) {
  if (!size) return Report(op, fmt::format("{} has no size", what));
  if (size->kind == SizeKind::Symbol) {
    auto is_symbol = [&](const Generic& generic) { return generic.name == size->symbol; };
    bool known = size->symbol.text() == kCoreNum || function_.FindDim(size->symbol) != nullptr ||
                 std::any_of(function_.generics.begin(), function_.generics.end(), is_symbol);
    if (!known)
      Report(op, fmt::format("{}: '{}' is neither a size name nor a generic", what,
                             size->symbol.text()));
  } else if (size->kind != SizeKind::Constant) {
    CheckSize(size->lhs, op, what);
    CheckSize(size->rhs, op, what);
  }
}

void FunctionVerifier::CheckAxes() {
  for (uint32_t i = 0; i < function_.axes.size(); ++i) {
    const Axis& axis = function_.axes[i];
    std::string what = fmt::format("axis '{}'", axis.name.text());
    if (axis.parent.valid() && axis.parent.value >= i)
      Report(nullptr, what + " is defined before the axis that it splits");
    // In a fn, an axis may have no extent; then each call determines it.
    bool by_call = function_.kind == FunctionKind::Fn && !axis.extent;
    if (!by_call) CheckSize(axis.extent, nullptr, what);
    if (axis.domain) CheckSize(axis.domain, nullptr, what);
  }
}

/// Checks that no size name is the reserved name for the number of cores, or looks like a variable that a
/// proof creates, such as `#5` or `?0`.
void FunctionVerifier::CheckNames() {
  auto check = [&](Name name) {
    if (name.text() == kCoreNum)
      Report(nullptr, fmt::format("'{}' is the number of cores, not a size name", kCoreNum));
    if (!IsPlainName(name.text()))
      Report(nullptr, fmt::format("the size name '{}' is not a word", name.text()));
  };
  for (Name dim : function_.dims) check(dim);
  for (const Generic& generic : function_.generics) check(generic.name);
  Walk(function_.body, [&](const Op* op) {
    if (op->kind() == OpKind::BindSize) check(op->attr<AttrKey::Name>());
  });
}

/// Checks that the op does not change the memory of an `in` parameter.
void FunctionVerifier::CheckWrites(const Op* op) {
  auto check = [&](const Value* tensor) {
    if (inputs_.contains(MemoryOf(tensor)))
      Report(op, fmt::format("it changes '{}', which is `in`", MemoryOf(tensor)->name().text()));
  };
  for (size_t s = 0; s < op->info().operands.size(); ++s) {
    Effect effect = op->info().operands[s].effect;
    bool writes = effect == Effect::Write || effect == Effect::Accumulate ||
                  (effect == Effect::Change &&
                   (op->kind() == OpKind::HostStore || op->kind() == OpKind::Restore));
    if (!writes) continue;
    for (const Value* tensor : op->Segment(s)) {
      if (IsTensor(tensor)) check(tensor);
    }
  }
  if (op->kind() != OpKind::Launch) return;
  const Function* kernel = module_.FindFunction(op->attr<AttrKey::Callee>());
  if (!kernel) return;
  size_t next = 0;
  Values arguments = op->Segment(LaunchOp::at_arguments);
  for (const Param& param : kernel->params) {
    if (param.value->type()->kind == TypeKind::Workspace || next == arguments.size()) continue;
    const Value* argument = arguments[next++];
    if (IsTensor(argument) && param.direction != Direction::In) check(argument);
  }
}

/// Checks that all loops over one domain have loop variables of the same kinds.
void FunctionVerifier::CheckDomain(const Op* op) {
  if (!op->HasAttr(AttrKey::Domain)) return;
  const Op*& first = domains_.try_emplace(op->attr<AttrKey::Domain>(), op).first->second;
  auto kind = [](const Value* binder) { return binder->type()->kind; };
  bool alike =
      std::ranges::equal(first->region()->params(), op->region()->params(), {}, kind, kind);
  if (!alike)
    Report(op, fmt::format("its binders are not those of the other loop over '{}'",
                           op->attr<AttrKey::Domain>().text()));
}

void FunctionVerifier::CheckSignature() {
  const std::vector<Value*>& values = function_.body->params();
  if (values.size() != function_.dims.size() + function_.params.size()) {
    return Report(nullptr, "the body's parameters are not the size names and the parameters");
  }
  for (size_t i = 0; i < function_.dims.size(); ++i) {
    bool is_dim = values[i]->type() == module_.types().ScalarOf(Scalar::I64) &&
                  values[i]->name() == function_.dims[i];
    if (!is_dim)
      Report(nullptr,
             fmt::format("there is no i64 parameter for size name '{}'", function_.dims[i].text()));
  }
  CheckNames();
  for (size_t i = 0; i < function_.params.size(); ++i) {
    const Param& param = function_.params[i];
    if (param.value != values[function_.dims.size() + i]) {
      return Report(nullptr, fmt::format("parameter {} is not a parameter of the body", i));
    }
    TypeKind kind = param.value->type()->kind;
    if (!IsPassedTo(function_.kind, param.value->type()))
      Report(nullptr, fmt::format("parameter '{}' has a type that cannot be passed to a {}",
                                  param.value->name().text(),
                                  function_.kind == FunctionKind::Fn ? "fn" : "kernel or program"));
    for (Size dim : param.value->type()->dims) CheckSize(dim, nullptr, param.value->name().text());
    if (kind == TypeKind::Tensor && param.direction == Direction::In) inputs_.insert(param.value);
    bool directed = kind == TypeKind::Tensor || kind == TypeKind::Pipe;
    if (!directed && param.direction != Direction::In)
      Report(nullptr, "a scalar parameter is not `in`");
  }
  bool gives = function_.kind == FunctionKind::Fn || function_.kind == FunctionKind::Contract;
  if (!gives && !function_.results.empty())
    Report(nullptr, "only a fn or a contract can have results");
  for (Type result : function_.results) {
    if (!IsTile(result))
      Report(nullptr, "a fn returns a value that is neither a scalar nor a tile");
  }
  CheckAxes();
}

void FunctionVerifier::Enter(Value* value, const Op* op) {
  for (AxisId axis : value->type()->axes) {
    if (axis.value >= function_.axes.size())
      return Report(op, fmt::format("axis {} is not an axis of the function", axis.value));
  }
  CheckTile(value, op);
  visible_.insert(value);
  scope_.push_back(value);
  defined_.push_back(value);
  if (value->type()->kind != TypeKind::Block) return;
  AxisId axis = value->type()->axes[0];
  if (++blocks_[axis.value] > 1) {
    Report(op, fmt::format("a second block of '{}' in scope", function_.axis(axis).name.text()));
  }
}

void FunctionVerifier::Leave(size_t mark) {
  while (scope_.size() > mark) {
    const Value* value = scope_.back();
    scope_.pop_back();
    visible_.erase(value);
    if (value->type()->kind == TypeKind::Block) --blocks_[value->type()->axes[0].value];
  }
}

/// Brings the parameters of a region into scope, and checks that each of them belongs to the region.
void FunctionVerifier::OpenScope(const Region* region, const Op* op) {
  for (size_t i = 0; i < region->params().size(); ++i) {
    const Value* param = region->param(i);
    if (param->parent_region() != region || param->def() || param->index() != i)
      Report(op, fmt::format("parameter {} is misplaced", i));
    Enter(region->param(i), op);
  }
}

void FunctionVerifier::CheckTile(const Value* value, const Op* op) {
  if (function_.kind == FunctionKind::Fn || value->type()->kind != TypeKind::Tile) return;
  for (AxisId axis : value->type()->axes) {
    if (blocks_[axis.value] > 0) continue;
    Report(op, fmt::format("a tile over '{}', but no block of this axis is in scope",
                           function_.axis(axis).name.text()));
  }
}

void FunctionVerifier::CheckSizes(const Op* op) {
  if (const Attr* size = op->FindAttr(AttrKey::Size))
    CheckSize(std::get<Size>(size->value), op, "the size");
  for (AttrKey side : {AttrKey::Left, AttrKey::Right}) {
    if (const Attr* size = op->FindAttr(side)) CheckSize(std::get<Size>(size->value), op, "a side");
  }
  if (const Attr* attr = op->FindAttr(AttrKey::Access)) {
    for (const AccessDim& dim : std::get<Access>(attr->value).dims) {
      CheckSize(dim.offset, op, "an offset");
      for (const AccessTerm& term : dim.terms) CheckSize(term.coefficient, op, "a coefficient");
    }
  }
  for (const Value* result : op->results()) {
    for (Size dim : result->type()->dims) CheckSize(dim, op, "the result's type");
  }
}

void FunctionVerifier::CheckOp(const Op* op, OpKind terminator) {
  bool is_last = op->next() == nullptr;
  if (op->info().has(kTerminator) && (!is_last || op->kind() != terminator)) {
    Report(op, fmt::format("'{}' is not at the end of a {}", op->info().spelling,
                           op->kind() == OpKind::Return ? "function" : "region"));
  }
  if (std::string fault = PlaceFault(op->info(), function_.kind); !fault.empty())
    Report(op, std::move(fault));
  for (size_t i = 0; i < op->operands().size(); ++i) {
    Value* value = op->operand(i);
    used_[value].push_back({const_cast<Op*>(op), static_cast<uint32_t>(i)});
    if (!visible_.contains(value))
      Report(op, fmt::format("operand {} is not defined in scope", i + 1));
  }
  std::string fault = StructureFault(*op);
  if (fault.empty()) fault = TypeFault(*op, module_);
  if (!fault.empty()) Report(op, fault);
  CheckSizes(op);
  if (fault.empty()) {
    CheckWrites(op);
    CheckDomain(op);
  }
  for (const Region* region : op->regions()) {
    if (region->parent() != op || region->function() != &function_)
      Report(op, "a region belongs to another op");
    size_t mark = scope_.size();
    OpenScope(region, op);
    CheckRegion(region, OpKind::Yield);
    Leave(mark);
  }
  for (size_t i = 0; i < op->results().size(); ++i) {
    Value* result = op->result(i);
    if (result->def() != op || result->index() != i)
      Report(op, fmt::format("result {} is misplaced", i));
    Enter(result, op);
  }
}

void FunctionVerifier::CheckRegion(const Region* region, OpKind terminator) {
  size_t mark = scope_.size();
  const Op* before = nullptr;
  for (const Op* op : *region) {
    if (op->parent_region() != region || op->prev() != before)
      Report(op, "the op is not linked into its region");
    CheckOp(op, terminator);
    before = op;
  }
  bool ends = region->last() == before && before && before->kind() == terminator;
  if (!ends) {
    Report(region->parent(),
           fmt::format("{} does not end with '{}'", region->parent() ? "a nested" : "the function",
                       Info(terminator).spelling));
  }
  Leave(mark);
}

/// Checks that the use lists match the operands exactly.
void FunctionVerifier::CheckUses() {
  auto less = [](const Use& a, const Use& b) {
    return std::pair(a.user, a.operand) < std::pair(b.user, b.operand);
  };
  auto same = [](const Use& a, const Use& b) { return a.user == b.user && a.operand == b.operand; };
  for (const Value* value : defined_) {
    std::vector<Use> listed = value->uses();
    std::vector<Use>& found = used_[value];
    std::sort(listed.begin(), listed.end(), less);
    std::sort(found.begin(), found.end(), less);
    if (std::equal(listed.begin(), listed.end(), found.begin(), found.end(), same)) continue;
    Report(value->def(), fmt::format("the use list of '{}' has {} uses, the function {}",
                                     value->name().text(), listed.size(), found.size()));
  }
}

std::string Sentence(const Fault& fault) {
  std::string where = fmt::format("@{}: ", fault.function->name.text());
  if (fault.op) where += fmt::format("`{}`: ", PrintLine(*fault.op));
  return where + fault.text;
}

std::string LoopLevelFault(const Op* op) {
  if (!op->info().is_in(kLoops)) return "is not allowed at loop level";
  for (const Value* value : op->results()) {
    bool is_tile = IsTile(value->type()) && !IsScalar(value->type());
    if (is_tile || value->type()->kind == TypeKind::Block)
      return "has a tile or block as result, which is not allowed at loop level";
  }
  for (const Value* value : op->operands()) {
    bool is_tile = IsTile(value->type()) && !IsScalar(value->type());
    if (is_tile || value->type()->kind == TypeKind::Block)
      return "has a tile or block as operand, which is not allowed at loop level";
  }
  if (!op->HasAttr(AttrKey::BoundsMode)) return "";
  if (op->attr<AttrKey::BoundsMode>() != BoundsMode::Proven)
    return "its bounds mode is not 'proven'";
  bool is_load = op->kind() == OpKind::Load;
  size_t mask = is_load ? size_t{LoadOp::at_mask} : size_t{StoreOp::at_mask};
  Type element = is_load ? op->result()->type() : op->operand(0)->type();
  return IsVector(element) || op->Segment(mask).empty() ? ""
                                                        : "has a mask, but is not a vector access";
}

}  // namespace

std::vector<Fault> FindFaults(const Module& module) {
  std::vector<Fault> faults;
  for (const Function* function : module.functions())
    FunctionVerifier(module, *function, faults).VerifyFunction();
  return faults;
}

std::vector<std::string> Verify(const Module& module) { return Verify(module, module.functions()); }

std::vector<std::string> Verify(const Module& module, std::span<Function* const> functions) {
  std::vector<Fault> faults;
  for (const Function* function : functions)
    FunctionVerifier(module, *function, faults).VerifyFunction();
  std::vector<std::string> sentences;
  for (const Fault& fault : faults) sentences.push_back(Sentence(fault));
  return sentences;
}

std::vector<std::string> VerifyLoopLevel(const Function& function) {
  std::vector<std::string> sentences;
  Walk(function.body, [&](const Op* op) {
    std::string fault = LoopLevelFault(op);
    if (!fault.empty()) sentences.push_back(Sentence({&function, op, fault}));
  });
  return sentences;
}

}  // namespace kdl::ir
