#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sema/contracts/contract.h"
#include "sema/contracts/contract_growth.h"
#include "sema/functions/devices.h"
#include "sema/functions/generics.h"
#include "sema/functions/groups.h"
#include "sema/functions/merge.h"
#include "sema/functions/type_lists.h"
#include "sema/model/builtins.h"
#include "sema/model/checked.h"
#include "sema/untaken_branches.h"
#include "sema/unused_names.h"
#include "sema/walk/constants.h"
#include "sema/walk/state.h"
#include "sema/walk/stmt.h"
#include "support/check.h"

namespace kdl::sema {

namespace {

using syntax::ConstItem;
using syntax::DeviceItem;
using syntax::FunctionItem;
using syntax::FunctionKind;
using syntax::Item;
using syntax::ItemKind;

EntityKind ItemEntityKind(const Item& item) {
  if (item.kind == ItemKind::Import) return EntityKind::Import;
  if (item.kind == ItemKind::Const) return EntityKind::Const;
  if (item.kind == ItemKind::Types) return EntityKind::TypeList;
  if (item.kind == ItemKind::Device) return EntityKind::Device;
  switch (syntax::As<FunctionItem>(&item).function_kind) {
    case FunctionKind::Fn:
      return EntityKind::Fn;
    case FunctionKind::Kernel:
      return EntityKind::Kernel;
    case FunctionKind::Program:
      return EntityKind::Program;
  }
  KDL_UNREACHABLE("function kind");
}

void ReportTaken(ModuleState& module, const Item& item, const Scope& items) {
  std::string_view name = item.name.name.text();
  const Builtin* builtin = FindBuiltin(name);
  bool calls = item.kind == ItemKind::Function;
  bool is_reserved = item.kind == ItemKind::Types && IsTypeWord(name);
  if (is_reserved || (builtin != nullptr && (calls || builtin->operands == Operands::None))) {
    module.diagnostics.Report(diag::BuiltinName, item.name.span, name);
  }
  auto known = items.find(item.name.name);
  if (known == items.end()) return;
  module.diagnostics.Report(diag::NameTaken, item.name.span, name, Describe(known->second->kind))
      .Note(known->second->span, "declared here")
      .Help("choose another name");
}

FunctionGroup* AddGroup(ModuleState& module, Entity* entity, const FunctionItem& function,
                        FileState& file) {
  entity->function = &function;
  entity->prefix = file.prefix;
  auto* group = module.arena.Make<FunctionGroup>(FunctionGroup{});
  group->entity = entity;
  group->item = &function;
  group->file = &file;
  module.groups[entity] = group;
  return group;
}

/// Declares the entity of an item. For a function, also creates the group of its instances.
Entity* DeclareItem(ModuleState& module, const Item& item, FileState& file) {
  Scope& items = file.items;
  ReportTaken(module, item, items);
  auto* entity = module.arena.Make<Entity>(Entity{});
  entity->kind = ItemEntityKind(item);
  entity->name = item.name.name;
  entity->span = item.name.span;
  entity->number = static_cast<uint32_t>(items.size());
  items.emplace(entity->name, entity);
  if (const auto* constant = syntax::DynAs<ConstItem>(&item)) {
    module.const_items[entity] = {constant, &file};
  }
  if (const auto* types = syntax::DynAs<syntax::TypesItem>(&item)) {
    module.type_lists[entity] = {types, &file, false, false, {}};
  }
  if (const auto* function = syntax::DynAs<FunctionItem>(&item)) {
    AddGroup(module, entity, *function, file);
  }
  return entity;
}

struct Items {
  std::vector<std::pair<const ConstItem*, Entity*>> consts;
  std::vector<Entity*> type_lists;
  std::vector<std::pair<const DeviceItem*, Entity*>> devices;
  std::vector<FunctionGroup*> functions;
};

/// Creates the function group for the program of a test. The program is not in any scope, so nothing can call
/// it.
FunctionGroup* TestGroup(ModuleState& module, const Item& item, FileState& file) {
  const FunctionItem* program = syntax::As<syntax::TestItem>(&item).program;
  auto* entity = module.arena.Make<Entity>(Entity{});
  entity->kind = EntityKind::Program;
  entity->name = program->name.name;
  entity->span = program->name.span;
  return AddGroup(module, entity, *program, file);
}

const FileState* DeclareImported(ModuleState& module, const SourceFile& source);

FileState* NewFile(ModuleState& module, std::string prefix) {
  auto* file = module.arena.Make<FileState>(FileState{});
  file->prefix = std::move(prefix);
  return file;
}

Items DeclareItems(ModuleState& module, const SourceFile& source, FileState& file) {
  Items items;
  auto imported = source.imports.begin();
  for (const Item* item : source.module->items) {
    if (item->kind == ItemKind::Import) {
      DeclareItem(module, *item, file)->file = DeclareImported(module, **imported++);
      continue;
    }
    if (item->kind == ItemKind::Test) {
      if (&file == module.file) items.functions.push_back(TestGroup(module, *item, file));
      continue;
    }
    Entity* entity = DeclareItem(module, *item, file);
    if (const auto* constant = syntax::DynAs<ConstItem>(item)) {
      items.consts.emplace_back(constant, entity);
    } else if (item->kind == ItemKind::Types) {
      items.type_lists.push_back(entity);
    } else if (const auto* device = syntax::DynAs<DeviceItem>(item)) {
      items.devices.emplace_back(device, entity);
    } else {
      items.functions.push_back(module.groups[entity]);
    }
  }
  return items;
}

/// Returns `lib::nn::` for the path `lib.nn`. The separator cannot be `.`, because a `.` starts the suffix
/// of an instance's name.
std::string ImportPrefix(std::string_view path) {
  std::string prefix;
  for (char c : path) {
    if (c == '.') {
      prefix += "::";
    } else {
      prefix += c;
    }
  }
  return prefix + "::";
}

const FileState* DeclareImported(ModuleState& module, const SourceFile& source) {
  FileState*& file = module.imported[&source];
  if (file != nullptr) return file;
  file = NewFile(module, ImportPrefix(source.path));
  FileState* made = file;
  Items items = DeclareItems(module, source, *made);
  for (auto& [item, entity] : items.devices) CheckDevice(module, *made, *item, *entity);
  return made;
}

void DeclareLibrary(ModuleState& module, std::span<const syntax::Module* const> library) {
  FileState* file = NewFile(module, "std::");
  for (const syntax::Module* tree : library) {
    for (const Item* item : tree->items) {
      bool is_used = item->kind == ItemKind::Const || item->kind == ItemKind::Types ||
                     item->kind == ItemKind::Function;
      if (!is_used) continue;
      Entity* entity = DeclareItem(module, *item, *file);
      if (entity->kind == EntityKind::Fn) module.library_by_text[entity->name.text()] = entity;
    }
  }
}

/// Reports each cycle of calls at the call that closes it. A fn must not be recursive, because it
/// is inlined.
void CheckRecursion(FunctionGroup& group, std::unordered_set<FunctionGroup*>& done,
                    std::vector<FunctionGroup*>& path, DiagnosticEngine& diagnostics) {
  if (done.contains(&group)) return;
  path.push_back(&group);
  for (const auto& [callee, span] : group.calls) {
    auto known = std::find(path.begin(), path.end(), callee);
    if (known == path.end()) {
      CheckRecursion(*callee, done, path, diagnostics);
      continue;
    }
    std::string cycle;
    for (auto step = known; step != path.end(); ++step) {
      cycle += fmt::format("{} -> ", (*step)->entity->name.text());
    }
    cycle += callee->entity->name.text();
    diagnostics.Report(diag::Recursion, span, callee->entity->name.text(), cycle);
  }
  path.pop_back();
  done.insert(&group);
}

size_t ErrorsIn(const FunctionGroup& group) {
  size_t errors = 0;
  for (const DiagnosticEngine* report : group.reports) errors += report->error_count();
  return errors;
}

bool HasStopped(ModuleState& module, const FunctionGroup& next) {
  if (!module.has_stopped && module.errors_in_functions > kMaxErrors) {
    module.has_stopped = true;
    module.diagnostics.Report(diag::TooManyErrors, next.item->name.span, kMaxErrors);
  }
  return module.has_stopped;
}

void CheckItems(ModuleState& module, const syntax::Module& tree, Items& items) {
  for (auto& [item, entity] : items.consts) EvaluateConst(module, entity);
  for (Entity* entity : items.type_lists) TypesOf(module, *entity);
  for (auto& [item, entity] : items.devices) CheckDevice(module, *module.file, *item, *entity);
  for (FunctionGroup* group : items.functions) {
    if (HasStopped(module, *group)) break;
    DeclareSignatures(module, *group);
    module.errors_in_functions += ErrorsIn(*group);
  }
  for (FunctionGroup* group : items.functions) {
    if (HasStopped(module, *group)) break;
    size_t before = ErrorsIn(*group);
    CheckBodies(module, *group);
    module.errors_in_functions += ErrorsIn(*group) - before;
  }
  for (size_t i = 0; i < module.pending_bodies.size(); ++i) {
    CheckBodies(module, *module.pending_bodies[i]);
  }
  // A group is pending again for each of its instances that is made where it is used.
  std::unordered_set<const FunctionGroup*> known;
  std::ranges::copy_if(module.pending_bodies, std::back_inserter(items.functions),
                       [&](const FunctionGroup* group) {
                         return group->file != module.file && known.insert(group).second;
                       });
  std::unordered_set<FunctionGroup*> done;
  std::vector<FunctionGroup*> path;
  for (FunctionGroup* group : items.functions) {
    CheckRecursion(*group, done, path, module.diagnostics);
  }
  CheckDefines(module, tree.items);
}

}  // namespace

void CheckBodies(ModuleState& module, FunctionGroup& group) {
  if (group.is_opaque) return;
  for (size_t i = 0; i < group.instances.size(); ++i) {
    CheckedFunction& instance = *group.instances[i];
    if ((instance.left_out && !instance.is_launched) || std::exchange(instance.is_checked, true))
      continue;
    DoingScope doing(fmt::format("checking '{}'", instance.InstanceName()));
    FunctionState state = Open(module, group, i);
    CheckBody(state);
    CheckContracts(state);
  }
  if (!std::exchange(group.names_done, true)) CheckUntakenBranches(module, group);
}

namespace {

/// Removes the instances that `-D` options exclude, except those that are launched.
void DropLeftOut(FunctionGroup& group) {
  for (size_t i = group.instances.size(); i-- > 0;) {
    if (!group.instances[i]->left_out || group.instances[i]->is_launched) continue;
    group.instances.erase(group.instances.begin() + static_cast<std::ptrdiff_t>(i));
    group.reports.erase(group.reports.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

CheckedModule Check(const SourceFile& file, std::span<const syntax::Module* const> library,
                    const SourceManager& sources, SizeTable& sizes, const CheckOptions& options,
                    DiagnosticEngine& diagnostics) {
  CheckedModule checked;
  checked.module = file.module;
  checked.arena = std::make_unique<Arena>();
  DiagnosticEngine collected;
  ModuleState state(*checked.arena, sizes, sources, options, collected);
  DeclareLibrary(state, library);
  state.file = NewFile(state, "");
  Items items = DeclareItems(state, file, *state.file);
  CheckItems(state, *file.module, items);
  for (FunctionGroup* group : items.functions) {
    DropLeftOut(*group);
    MergeInstances(*group, collected);
    checked.functions.insert(checked.functions.end(), group->instances.begin(),
                             group->instances.end());
  }
  for (auto& [item, entity] : items.devices) checked.devices.push_back(entity);
  if (!collected.has_errors()) CheckContractGrowth(checked, collected);
  if (!collected.has_errors()) ReportUnusedNames(state, items.functions);
  MergeSorted(collected, diagnostics);
  return checked;
}

}  // namespace kdl::sema
