#include "codegen/llvm/debug_declarations.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <utility>

#include "ir/op_kind.h"
#include "support/sort_by.h"

namespace kdl::codegen {

const SourceVariable::Assignment* AssignmentAt(const SourceVariable& variable, SourcePlace place) {
  auto found = std::ranges::find_if(variable.assignments, [&](const auto& assignment) {
    return assignment.begin <= place && place < assignment.end;
  });
  return found == variable.assignments.end() ? nullptr : &*found;
}

std::vector<int64_t> ExtentsOf(ir::Type buffer) {
  std::vector<int64_t> extents;
  for (Size extent : buffer->dims) extents.push_back(extent->value);
  return extents;
}

std::pair<std::string_view, std::vector<size_t>> SplitBufferName(std::string_view name) {
  size_t mark = name.find(".by.");
  bool is_split = mark != std::string_view::npos &&
                  name.find_first_not_of(".0123456789", mark + 3) == std::string_view::npos;
  if (!is_split) return {name, {}};
  std::vector<size_t> order;
  for (char c : name.substr(mark + 3)) {
    if (c == '.') {
      order.push_back(0);
    } else {
      order.back() = order.back() * 10 + static_cast<size_t>(c - '0');
    }
  }
  return {name.substr(0, mark), std::move(order)};
}

DebugDeclarations::DebugDeclarations(Emitter& emitter, const SourceVariables& variables,
                                     SourceLines* lines)
    : emitter_(emitter), variables_(variables), lines_(lines) {
  if (lines_) types_.emplace(lines_->builder());
}

const SourceFunction* DebugDeclarations::FunctionAt(const ir::Loc& loc) const {
  return variables_.FindFunction(loc.call ? loc.call->function : emitter_.kernel.name, loc);
}

const SourceVariable* DebugDeclarations::Find(std::string_view name, const ir::Loc& loc) const {
  const SourceFunction* function = FunctionAt(loc);
  if (!function) return nullptr;
  const SourceVariable* found = nullptr;
  for (const SourceVariable& variable : function->variables) {
    bool is_here = variable.name.text() == name &&
                   (variable.IsIn(PlaceOf(loc)) || AssignmentAt(variable, PlaceOf(loc)));
    if (is_here) found = &variable;
  }
  return found;
}

/// Finds the buffers of tiles, and for tiles without buffers, how many elements are computed together.
void DebugDeclarations::FindShapes() {
  WalkEmitted(emitter_, [&](const ir::Op* op) {
    for (const ir::Value* value : op->results()) {
      if (value->name().empty()) continue;
      auto [name, order] = SplitBufferName(value->name().text());
      const SourceVariable* variable = Find(name, op->loc());
      // In an inlined fn, a scalar can be mapped over the elements of a tile, several of which are computed together.
      bool is_mapped = variable && variable->kind == VariableKind::Scalar && op->loc().call;
      if (!variable || (variable->kind != VariableKind::Tile && !is_mapped)) continue;
      ir::Type type = value->type();
      if (type->scalar != variable->scalar) continue;
      TileShape& shape = shapes_[KeyOf(*variable, {op->loc(), op->parent_region()})];
      if (type->kind == ir::TypeKind::Buffer) {
        if (is_mapped || !shape.extents.empty()) continue;
        shape.extents = ExtentsOf(type);
        shape.order = order;
      } else if (type->kind == ir::TypeKind::Vector || ir::IsScalar(type)) {
        shape.lanes = std::max(shape.lanes, ir::Lanes(type));
      }
    }
  });
}

/// Returns the variable with its ranges in the order of the dimensions in memory. `order` permutes the kernel's order of
/// axes.
SourceVariable DebugDeclarations::InMemoryOrder(const SourceVariable& variable,
                                                const std::vector<size_t>& order) const {
  SourceVariable ordered = variable;
  auto position = [&](Name range) {
    return std::ranges::find(emitter_.kernel.axes, range, &ir::Axis::name);
  };
  SortBy(ordered.ranges, position);
  if (order.size() != ordered.ranges.size()) return ordered;
  std::vector<Name> permuted;
  for (size_t axis : order) permuted.push_back(ordered.ranges[axis]);
  ordered.ranges = std::move(permuted);
  return ordered;
}

uint64_t DebugDeclarations::BitsOf(const DebugKey& key) {
  uint64_t bits = static_cast<uint64_t>(Bytes(key.variable->scalar)) * 8;
  switch (key.variable->kind) {
    case VariableKind::Scalar:
    case VariableKind::Tile:
      return bits * static_cast<uint64_t>(std::max<int64_t>(shapes_[key].lanes, 1));
    case VariableKind::Range:
      return 128;
    default:
      return bits;
  }
}

/// Returns the elements of a tuple in order. An element whose tile is in memory is a reference to it.
std::vector<DebugTypes::Member> DebugDeclarations::MembersOf(const DebugKey& tuple) {
  std::vector<DebugTypes::Member> members;
  uint64_t end = 0;
  for (const SourceVariable* element : tuple.variable->elements) {
    const DebugKey key{element, tuple.call, tuple.version};
    bool is_reference = shapes_[key].has_buffer();
    uint64_t bits = is_reference ? kAddressBits : BitsOf(key);
    uint64_t alignment = is_reference ? kAddressBits : uint64_t{8} * Bytes(element->scalar);
    uint64_t at = (end + alignment - 1) / alignment * alignment;
    llvm::DIType* type = TypeOf(key);
    members.push_back({at, bits, is_reference ? types_->Reference(type) : type});
    end = at + bits;
  }
  return members;
}

llvm::DIType* DebugDeclarations::TypeOf(const DebugKey& key) {
  const SourceVariable& variable = *key.variable;
  switch (variable.kind) {
    case VariableKind::Scalar:
      return shapes_[key].lanes > 1 ? types_->Lanes(variable, shapes_[key].lanes)
                                    : types_->Element(variable.scalar);
    case VariableKind::Tuple:
      return types_->Tuple(MembersOf(key));
    case VariableKind::Range:
      return types_->Range();
    case VariableKind::Tile: {
      const TileShape& shape = shapes_[key];
      return shape.extents.empty()
                 ? types_->Lanes(variable, std::max<int64_t>(shape.lanes, 1))
                 : types_->Tile(InMemoryOrder(variable, shape.order), shape.extents);
    }
    case VariableKind::Tensor:
      break;
  }
  std::vector<llvm::Metadata*> sizes;
  for (Size size : variable.sizes) {
    constexpr int64_t kUnknown = -1;
    llvm::Metadata* count = llvm::ConstantAsMetadata::get(emitter_.builder.getInt64(
        static_cast<uint64_t>(IsConstant(size) ? size->value : kUnknown)));
    if (size->kind == SizeKind::Symbol) {
      for (const auto& [other, declared] : declared_) {
        if (other.call == key.call && other.variable->name == size->symbol) count = declared;
      }
    }
    sizes.push_back(count);
  }
  return types_->Tensor(variable, sizes);
}

llvm::DILocalVariable* DebugDeclarations::Declared(const DebugKey& key, const DebugPlace& here) {
  if (auto known = declared_.find(key); known != declared_.end()) return known->second;
  const SourceVariable& variable = *key.variable;
  llvm::DILocalScope* scope = lines_->ScopeOf(variable, here.loc, here.region);
  llvm::DIBuilder& builder = lines_->builder();
  llvm::DIFile* file = scope->getFile();
  llvm::StringRef name = variable.name.text();
  llvm::DIType* type = TypeOf(key);
  constexpr bool kPreserve = true;
  return declared_[key] =
             variable.parameter > 0
                 ? builder.createParameterVariable(scope, name, variable.parameter, file,
                                                   variable.declared.line, type, kPreserve)
                 : builder.createAutoVariable(scope, name, file, variable.declared.line, type,
                                              kPreserve);
}

/// Records that the variable is the result of the operations on `value`.
void DebugDeclarations::Show(const DebugKey& key, llvm::Value* value,
                             llvm::ArrayRef<uint64_t> operations, const DebugPlace& here) {
  if (!lines_) return;
  const SourceVariable* tuple = key.variable->tuple;
  const DebugKey whole{tuple ? tuple : key.variable, key.call, key.version};
  llvm::DILocalVariable* declared = Declared(whole, here);
  llvm::SmallVector<uint64_t> all(operations);
  if (tuple) {
    size_t number = std::ranges::find(tuple->elements, key.variable) - tuple->elements.begin();
    const DebugTypes::Member member = MembersOf(whole)[number];
    // The member is the address of the tile.
    if (shapes_[key].has_buffer() && !all.empty()) all.pop_back();
    all.append({llvm::dwarf::DW_OP_LLVM_fragment, member.at_bit, member.bits});
  }
  lines_->builder().insertDbgValueIntrinsic(
      value, declared, lines_->builder().createExpression(all),
      lines_->DeclarationOf(*whole.variable, here.loc, here.region),
      emitter_.builder.GetInsertBlock());
}

}  // namespace kdl::codegen
