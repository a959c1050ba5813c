#include "codegen/llvm/debug_variables.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <utility>

#include "ir/op_kind.h"

namespace kdl::codegen {

namespace {

constexpr uint64_t kRead = llvm::dwarf::DW_OP_deref;

/// Returns the name of the variable to which a value belongs, and the part that the value is: "start" or "size" of a
/// range, otherwise nothing.
std::pair<std::string_view, std::string_view> SplitName(std::string_view name) {
  size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

/// While one exists, instructions belong to no line, so that debuggers stop at a line after them. `at` may give them a scope.
class Unseen {
 public:
  explicit Unseen(llvm::IRBuilder<>& builder, const llvm::DebugLoc& at = {})
      : builder_(builder), outer_(builder.getCurrentDebugLocation()) {
    builder.SetCurrentDebugLocation(at);
  }
  ~Unseen() { builder_.SetCurrentDebugLocation(outer_); }
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;

 private:
  llvm::IRBuilder<>& builder_;
  llvm::DebugLoc outer_;
};

}  // namespace

DebugVariables::DebugVariables(Emitter& emitter, const SourceVariables& variables, bool keeps,
                               SourceLines* lines)
    : emitter_(emitter), declarations_(emitter, variables, lines), keeps_(keeps), lines_(lines) {}

// -- Records ---------------------------------------------------------------------------------------

/// Records that the variable is the result of the operations on `value`.
void DebugVariables::Show(const Key& key, llvm::Value* value, llvm::ArrayRef<uint64_t> operations,
                          const Here& here) {
  shown_in_[key] = emitter_.builder.GetInsertBlock();
  declarations_.Show(key, value, operations, here);
}

/// Records that the variable's value is unknown.
void DebugVariables::Forget(const Key& key, const Here& here) {
  if (records_.erase(key) > 0)
    Show(key, llvm::PoisonValue::get(emitter_.builder.getInt64Ty()), {}, here);
}

/// Records again where a variable is kept, if the current block has no record of it. LLVM follows a variable only through
/// blocks with code in the variable's scope, and hoisted code can be in other scopes.
void DebugVariables::ShowInBlock(const Key& key, const Here& here) {
  auto record = records_.find(key);
  bool is_shown = shown_in_[key] == emitter_.builder.GetInsertBlock();
  if (!keeps_ || record == records_.end() || is_shown) return;
  bool is_fixed = llvm::isa<llvm::AllocaInst>(record->second.value);
  if (is_fixed) return Show(key, record->second.value, {kRead}, here);
  Show(key, slots_.at(key), {kRead, kRead}, here);
}

llvm::AllocaInst* DebugVariables::SlotOf(const Key& key, llvm::Type* type) {
  llvm::AllocaInst*& slot = slots_[key];
  if (slot) return slot;
  const llvm::IRBuilder<>::InsertPointGuard guard(emitter_.builder);
  llvm::BasicBlock& entry = emitter_.function->getEntryBlock();
  emitter_.builder.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  emitter_.builder.SetCurrentDebugLocation(llvm::DebugLoc());
  return slot = StackPlace(emitter_, type, key.variable->name.text());
}

/// Returns the location of the store that keeps a variable. The parameters of an inlined fn are stored in its scope, because gdb
/// is in the caller at the first instruction of an inlined fn, and the fn's first line shall not be there.
llvm::DebugLoc DebugVariables::StoreLoc(const Key& key, const Here& here) const {
  const SourceVariable& whole = key.variable->tuple ? *key.variable->tuple : *key.variable;
  bool is_given = whole.parameter > 0 || whole.kind == VariableKind::Range;
  if (!lines_ || !here.loc.call || !is_given) return {};
  const llvm::DILocation* at = lines_->DeclarationOf(whole, here.loc, here.region);
  return llvm::DILocation::get(at->getContext(), 0, 0, at->getScope(), at->getInlinedAt());
}

/// Records that the variable is in memory, at the address `record.value`.
void DebugVariables::Place(const Key& key, const Record& record, const Here& here) {
  records_[key] = record;
  places_[key] = here;
  bool is_fixed = llvm::isa<llvm::AllocaInst>(record.value);
  if (!keeps_ || is_fixed) return Show(key, record.value, {kRead}, here);
  llvm::AllocaInst* slot = SlotOf(key, emitter_.builder.getPtrTy());
  const Unseen unseen(emitter_.builder, StoreLoc(key, here));
  emitter_.builder.CreateStore(record.value, slot);
  Show(key, slot, {kRead, kRead}, here);
}

/// Records that the variable, or its part that begins at bit `at_bit`, has the value.
void DebugVariables::Keep(const Key& key, llvm::Value* value, const Here& here, uint64_t at_bit) {
  auto& builder = emitter_.builder;
  const SourceVariable& variable = *key.variable;
  places_[key] = here;
  const llvm::Type* element = value->getType()->getScalarType();
  const SourceVariable::Assignment* assignment = AssignmentAt(variable, PlaceOf(here.loc));
  Record record{assignment ? assignment->end : PlaceOf(here.loc), value, false};
  bool is_bool = element->isIntegerTy(1);
  uint64_t bits = static_cast<uint64_t>(Bytes(variable.scalar)) * 8;
  uint64_t all = declarations_.BitsOf(key);
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType()))
    bits *= vector->getNumElements();
  if (at_bit + bits > all) return;
  if (!keeps_) {
    records_[key] = record;
    if (is_bool && value->getType()->isVectorTy()) return;
    if (bits == all) return Show(key, value, {}, here);
    if (variable.tuple) return;  // a fragment has no fragments
    return Show(key, value, {llvm::dwarf::DW_OP_LLVM_fragment, at_bit, bits}, here);
  }
  llvm::AllocaInst* slot = SlotOf(key, llvm::ArrayType::get(builder.getInt8Ty(), all / 8));
  const Unseen unseen(builder, StoreLoc(key, here));
  if (is_bool) value = builder.CreateZExt(value, WithLanesOf(value, builder.getInt8Ty()));
  llvm::Value* address =
      at_bit == 0 ? slot
                  : builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), slot, at_bit / 8);
  builder.CreateAlignedStore(value, address, llvm::Align(1));
  record.value = slot;
  record.in_memory = true;
  records_[key] = record;
  Show(key, slot, {kRead}, here);
}

void DebugVariables::DeclareTensor(const SourceVariable& variable, const Memory& memory) {
  const Here here{emitter_.kernel.loc, emitter_.kernel.body};
  Place(KeyOf(variable, here), {PlaceOf(here.loc), memory.base, true}, here);
}

/// Shows the variables that are constants, in all of the function.
void DebugVariables::DeclareConstants(const SourceFunction& function, const Here& here) {
  for (const SourceVariable& variable : function.variables) {
    std::optional<uint64_t> bits = variable.constant;
    for (const ir::Generic& generic : emitter_.kernel.generics) {
      if (!here.loc.call && generic.name == variable.name && generic.values.size() == 1 &&
          variable.assignments.empty())
        bits = static_cast<uint64_t>(generic.values[0]);
    }
    if (!bits) continue;
    Key key = KeyOf(variable, here);
    auto width = static_cast<unsigned>(Bytes(variable.scalar)) * 8;
    Show(key, emitter_.builder.getInt(llvm::APInt(width, *bits)), {}, here);
  }
}

void DebugVariables::Begin() {
  declarations_.FindShapes();
  const ir::Function& kernel = emitter_.kernel;
  const Here here{kernel.loc, kernel.body};
  const SourceFunction* function = declarations_.FunctionAt(kernel.loc);
  if (!function) return;
  auto find = [&](Name name) -> const SourceVariable* {
    auto found = std::ranges::find_if(function->variables, [&](const SourceVariable& variable) {
      return variable.parameter > 0 && variable.name == name;
    });
    return found == function->variables.end() ? nullptr : &*found;
  };
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    const SourceVariable* variable = find(kernel.dims[i]);
    if (variable) Keep(KeyOf(*variable, here), emitter_.Get(kernel.dim_value(i)), here, 0);
  }
  for (const ir::Param& param : kernel.params) {
    const SourceVariable* variable = find(param.value->name());
    if (!variable) continue;
    if (variable->kind == VariableKind::Tensor) {
      DeclareTensor(*variable, emitter_.memories.at(param.value));
    } else if (variable->kind == VariableKind::Scalar) {
      Keep(KeyOf(*variable, here), emitter_.Get(param.value), here, 0);
    }
  }
  DeclareConstants(*function, here);
}

/// Records the buffer of a tile. A statement that assigns a variable again computes the new tile in another buffer, so the
/// variable is there only after the statement.
void DebugVariables::PlaceBuffer(const Key& key, llvm::Value* base, const Here& here) {
  const Record record{PlaceOf(here.loc), base, true};
  const SourceVariable::Assignment* assignment = AssignmentAt(*key.variable, PlaceOf(here.loc));
  if (!keeps_ || !assignment || !records_.contains(key)) return Place(key, record, here);
  pending_[key] = {assignment->begin, assignment->end, record, here, around_.size()};
}

/// Records the variables that statements before this place have assigned.
void DebugVariables::PlacePending(const Here& here) {
  std::erase_if(pending_, [&](const auto& entry) {
    const auto& [key, pending] = entry;
    SourcePlace place = PlaceOf(here.loc);
    bool is_after = here.loc.call == key.call && (place < pending.begin || pending.end <= place);
    if (is_after) Place(key, pending.record, pending.here);
    return is_after;
  });
}

void DebugVariables::Define(const ir::Value* value, const Here& here) {
  if (value->name().empty()) return;
  ir::Type type = value->type();
  auto [tile_name, order] = SplitBufferName(value->name().text());
  const SourceVariable* variable = declarations_.Find(tile_name, here.loc);
  uint64_t at_bit = 0;
  if (!variable || variable->kind == VariableKind::Range) {
    auto [name, part] = SplitName(value->name().text());
    if (part != "start" && part != "size") return;
    variable = declarations_.Find(name, here.loc);
    if (!variable || variable->kind != VariableKind::Range) return;
    at_bit = part == "size" ? 64 : 0;
  }
  if (type->scalar != variable->scalar) return;
  Key key = KeyOf(*variable, here);
  if (type->kind == ir::TypeKind::Buffer) {
    bool is_shown = variable->kind == VariableKind::Tile &&
                    declarations_.ShapeOf(key).extents == ExtentsOf(type) &&
                    declarations_.ShapeOf(key).order == order;
    if (is_shown) PlaceBuffer(key, emitter_.memories.at(value).base, here);
    return;
  }
  auto scalar = emitter_.scalars.find(value);
  if (scalar == emitter_.scalars.end()) return;
  bool is_lanes = declarations_.IsInRegisters(key) &&
                  (variable->kind == VariableKind::Tile || declarations_.ShapeOf(key).lanes > 1);
  if (is_lanes || (variable->kind != VariableKind::Tile && ir::IsScalar(type)))
    Keep(key, scalar->second, here, at_bit);
}

// -- Order -----------------------------------------------------------------------------------------

/// Records the block of a range that has only one, from 0 to a size.
void DebugVariables::KeepWhole(const Key& key, const Here& here) {
  const Size size = key.variable->sizes[0];
  bool is_dim = size->kind == SizeKind::Symbol && emitter_.dims.contains(size->symbol);
  if (!is_dim && !IsConstant(size)) return;
  llvm::Value* count = is_dim ? emitter_.dims.at(size->symbol)
                              : emitter_.builder.getInt64(static_cast<uint64_t>(size->value));
  Keep(key, emitter_.builder.getInt64(0), here, 0);
  Keep(key, count, here, 64);
}

/// Records that the variable has the value of another variable, whose record is `from`.
void DebugVariables::Copy(const Key& key, const Key& other, const Record& from, SourcePlace since,
                          const Here& here) {
  const SourceVariable& variable = *key.variable;
  Record copy = from;
  copy.since = since;
  const TileShape& shape = declarations_.ShapeOf(key);
  const TileShape& other_shape = declarations_.ShapeOf(other);
  bool same_shape = shape.extents == other_shape.extents && shape.order == other_shape.order;
  if (variable.kind == VariableKind::Tile) {
    if (copy.in_memory && shape.has_buffer() && same_shape) Place(key, copy, here);
  } else if (!keeps_) {
    records_[key] = copy;
    Show(key, copy.value, {}, here);
  } else if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(copy.value)) {
    auto& builder = emitter_.builder;
    llvm::Type* type = builder.getIntNTy(static_cast<unsigned>(declarations_.BitsOf(key)));
    // Without it, the first statement of an inlined fn would begin with this load, before its ranges are kept.
    const Unseen unseen(builder, StoreLoc(key, here));
    Keep(key, builder.CreateAlignedLoad(type, slot, llvm::Align(1)), here, 0);
    records_[key].since = since;
  }
}

/// Records the parameters of the inlined fn that contains the location, and those of the fns around it.
void DebugVariables::BindParameters(const ir::Loc& loc, const ir::Region* region) {
  if (!loc.call) return;
  const ir::Loc& at = loc.call->at;
  BindParameters(at, region);
  const SourceFunction* caller = declarations_.FunctionAt(at);
  if (!caller) return;
  auto call = std::ranges::find_if(caller->calls, [&](const SourceCall& one) {
    return one.begin == PlaceOf(at) && one.function == loc.call->function;
  });
  if (call == caller->calls.end()) return;
  for (const SourceCall::Argument& argument : call->arguments)
    BindParameter(argument, {loc, region}, {at, region});
}

/// At -O0, KIR has copies of arguments, except of ranges and of tiles that stay where they are. At other levels, arguments are
/// the caller's values.
void DebugVariables::BindParameter(const SourceCall::Argument& argument, const Here& here,
                                   const Here& at) {
  const SourceVariable& parameter = *argument.parameter;
  Key key = KeyOf(parameter, here);
  bool is_range = parameter.kind == VariableKind::Range;
  bool is_in_place = parameter.kind == VariableKind::Tile && argument.copied &&
                     !declarations_.ShapeOf(key).has_buffer();
  if (keeps_ ? !is_range && !is_in_place : is_range) return;
  auto known = records_.find(key);
  bool is_known = known != records_.end();
  if (argument.copied) {
    const Key copied = KeyOf(*argument.copied, at);
    auto record = records_.find(copied);
    if (record == records_.end()) return;
    if (is_known && (keeps_ || known->second.value == record->second.value)) return;
    // A scalar parameter has as many lanes as the caller's tile.
    bool is_mapped = declarations_.IsInRegisters(copied) && parameter.kind == VariableKind::Scalar;
    if (is_mapped) declarations_.ShapeOf(key).lanes = declarations_.ShapeOf(copied).lanes;
    if (keeps_ && is_in_place) declarations_.ShapeOf(key) = declarations_.ShapeOf(copied);
    bool has_type = is_mapped || argument.copied->kind == parameter.kind;
    if (has_type) Copy(key, copied, Record(record->second), parameter.begin, here);
  } else if (is_known) {
    return;
  } else if (argument.constant && parameter.kind == VariableKind::Scalar) {
    auto width = static_cast<unsigned>(Bytes(parameter.scalar)) * 8;
    Keep(key, emitter_.builder.getInt(llvm::APInt(width, *argument.constant)), here, 0);
  }
}

/// Records an assignment that no op makes.
void DebugVariables::Assign(const SourceVariable& variable,
                            const SourceVariable::Assignment& assignment, const Here& here) {
  Key key = KeyOf(variable, here);
  auto from = assignment.copied ? records_.find(KeyOf(*assignment.copied, here)) : records_.end();
  bool has_buffer =
      variable.kind == VariableKind::Tile && !declarations_.ShapeOf(key).extents.empty();
  if (from == records_.end()) {
    if (!has_buffer && variable.kind != VariableKind::Tensor) Forget(key, here);
    return;
  }
  Copy(key, from->first, Record(from->second), assignment.end, here);
}

void DebugVariables::Reach(const ir::Op* op) {
  const Here here{op->loc(), op->parent_region()};
  const SourceFunction* function = declarations_.FunctionAt(here.loc);
  if (!function) return;
  SourcePlace place = PlaceOf(here.loc);
  PlacePending(here);
  BindParameters(here.loc, here.region);
  for (const SourceVariable& variable : function->variables) {
    if (!variable.IsIn(place)) continue;
    const Key key = KeyOf(variable, here);
    if (lines_ && !variable.tuple) declarations_.Declared(key, here);
    if (variable.kind == VariableKind::Tuple) continue;
    bool is_whole = variable.kind == VariableKind::Range && !variable.sizes.empty();
    if (is_whole && !records_.contains(key)) KeepWhole(key, here);
    for (const SourceVariable::Assignment& assignment : variable.assignments) {
      if (place < assignment.end) break;
      auto record = records_.find(KeyOf(variable, here));
      bool is_new = record == records_.end() ? assignment.copied != nullptr
                                             : record->second.since < assignment.end;
      if (is_new) Assign(variable, assignment, here);
    }
    ShowInBlock(key, here);
  }
}

void DebugVariables::EnterRegion(const ir::Region* region) {
  around_.push_back(records_);
  const ir::Op* parent = region->parent();
  if (!parent) return;
  for (const ir::Value* param : region->params()) Define(param, {parent->loc(), region});
  // In the previous iteration, a var may have been assigned the tile of another variable.
  if (parent->kind() != ir::OpKind::Loop && parent->kind() != ir::OpKind::While) return;
  for (const auto& [key, record] : Records(records_)) {
    if (key.variable->kind == VariableKind::Tile && record.in_memory &&
        key.variable->assignments.size() > 1)
      Place(key, record, places_.at(key));
  }
}

void DebugVariables::LeaveRegion() {
  Records& outside = around_.back();
  for (const auto& [key, record] : records_) {
    auto before = outside.find(key);
    if (before != outside.end() && !(before->second == record)) changed_.insert(key);
  }
  for (const auto& [key, record] : outside) {
    if (!records_.contains(key)) changed_.insert(key);
  }
  records_ = std::move(outside);
  around_.pop_back();
  std::erase_if(pending_, [&](const auto& entry) { return entry.second.depth > around_.size(); });
}

/// Records where variables are after an op with regions: what the regions have changed differs between the ways to this
/// point.
void DebugVariables::Rejoin() {
  for (const Key& key : std::exchange(changed_, {})) {
    auto record = records_.find(key);
    if (record == records_.end()) continue;
    if (!record->second.in_memory) {
      Forget(key, places_.at(key));
    } else if (key.variable->kind == VariableKind::Tile) {
      Place(key, Record(record->second), places_.at(key));
    }
  }
}

void DebugVariables::Made(const ir::Op* op) {
  Rejoin();
  for (const ir::Value* result : op->results()) Define(result, {op->loc(), op->parent_region()});
}

}  // namespace kdl::codegen
