#include "codegen/llvm/debug_declarations.h"

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
      if (!variable || variable->kind != VariableKind::Tile) continue;
      ir::Type type = value->type();
      if (type->scalar != variable->scalar) continue;
      TileShape& shape = shapes_[KeyOf(*variable, {op->loc(), op->parent_region()})];
      if (type->kind == ir::TypeKind::Buffer) {
        if (!shape.extents.empty()) continue;
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

llvm::DIType* DebugDeclarations::TypeOf(const DebugKey& key) {
  const SourceVariable& variable = *key.variable;
  switch (variable.kind) {
    case VariableKind::Scalar:
      return types_->Element(variable.scalar);
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
  llvm::DILocalVariable* declared = Declared(key, here);
  lines_->builder().insertDbgValueIntrinsic(
      value, declared, lines_->builder().createExpression(operations),
      lines_->DeclarationOf(*key.variable, here.loc, here.region),
      emitter_.builder.GetInsertBlock());
}

}  // namespace kdl::codegen
