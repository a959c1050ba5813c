#include "sema/unused_names.h"

#include <algorithm>
#include <string_view>

#include "support/contains.h"

namespace kdl::sema {

namespace {

/// Whether the name is worth a warning if nothing uses it. A fn may need parameters that it does not use, to be passed as
/// a function, and the elements of an unused output would be unwritten, which is an error.
bool ShouldBeUsed(const Entity& entity, syntax::FunctionKind function) {
  switch (entity.kind) {
    case EntityKind::Let:
    case EntityKind::Var:
    case EntityKind::Range:
    case EntityKind::Domain:
    case EntityKind::LocalTensor:
      return true;
    case EntityKind::TensorParam:
    case EntityKind::ScalarParam:
      return function != syntax::FunctionKind::Fn;
    default:
      return false;
  }
}

/// Whether the parameter gives a size its value, because no other parameter has it as a dimension.
bool GivesSize(const Entity& param, const CheckedFunction& function) {
  return std::ranges::any_of(param.type.dims, [&](Size size) {
    return size->kind == SizeKind::Symbol &&
           std::ranges::none_of(function.entities, [&](const Entity* other) {
             return other != &param && other->kind == EntityKind::TensorParam &&
                    std::ranges::find(other->type.dims, size) != other->type.dims.end();
           });
  });
}

/// Whether the range is a dimension of a tile parameter, whose type needs a name for it.
bool NamesDimension(const Entity& range, const CheckedFunction& function) {
  return std::ranges::any_of(function.entities, [&](const Entity* other) {
    return other->kind == EntityKind::TileParam && Contains(other->type.ranges, &range);
  });
}

void Report(ModuleState& module, const Entity& entity) {
  std::string_view name = entity.name.text();
  if (name.starts_with('_') || !entity.span.valid() || module.uses.Contains(entity)) return;
  module.diagnostics.Report(diag::UnusedName, entity.span, name)
      .Help(fmt::format("remove it, or call it '_{}'", name));
}

}  // namespace

void ReportUnusedNames(ModuleState& module, std::span<FunctionGroup* const> functions) {
  for (const FunctionGroup* group : functions) {
    if (group->file != module.file) continue;
    for (const CheckedFunction* instance : group->instances) {
      if (!instance->is_checked) continue;
      for (const Entity* entity : instance->entities) {
        if (entity->is_absent) continue;
        bool is_needed =
            (entity->kind == EntityKind::TensorParam && GivesSize(*entity, *instance)) ||
            (entity->kind == EntityKind::Range && NamesDimension(*entity, *instance));
        if (ShouldBeUsed(*entity, group->item->function_kind) && !is_needed)
          Report(module, *entity);
      }
    }
  }
}

}  // namespace kdl::sema
