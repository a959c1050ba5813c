#include "passes/analysis/visible_sizes.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "ir/op_info.h"
#include "ir/tensor_view.h"
#include "proofs/proofs.h"

namespace kdl::passes {

namespace {

using proofs::AccessView;

/// Returns whether the value is used only in static assertions.
bool IsAsserted(const Value* value) {
  return std::ranges::all_of(value->uses(), [](const ir::Use& use) {
    const Op* user = use.user;
    if (user->kind() == OpKind::StaticAssert) return true;
    return user->info().has(ir::kPure) && user->regions().empty() &&
           std::ranges::all_of(user->results(), IsAsserted);
  });
}

bool AccessMentions(const ir::Access& access, const IsNumber& is_number) {
  return std::ranges::any_of(access.dims, [&](const ir::AccessDim& dim) {
    return MentionsNumber(dim.offset, is_number) ||
           std::ranges::any_of(dim.terms, [&](const ir::AccessTerm& term) {
             return MentionsNumber(term.coefficient, is_number);
           });
  });
}

bool AttrMentions(const ir::Attr& attr, const IsNumber& is_number) {
  if (const auto* size = std::get_if<Size>(&attr.value)) return MentionsNumber(*size, is_number);
  const auto* access = std::get_if<ir::Access>(&attr.value);
  return access && AccessMentions(*access, is_number);
}

/// Returns whether the op is a store that an iteration of the loop executes at most once, for all elements of its
/// block.
bool StoresOnce(const AccessView& view, const Op* loop) {
  ir::AxisId axis = loop->region()->param(0)->type()->axes[0];
  if (view.op->kind() != OpKind::Store || !Contains(view.axes(), axis)) return false;
  const Op* around = view.op->parent_region()->parent();
  while (around->kind() == OpKind::If) around = around->parent_region()->parent();
  return around == loop;
}

}  // namespace

bool MentionsNumber(Size size, const IsNumber& is_number) {
  if (!size) return false;
  if (size->kind == SizeKind::Symbol) return is_number(size->symbol);
  return size->lhs &&
         (MentionsNumber(size->lhs, is_number) || MentionsNumber(size->rhs, is_number));
}

bool UsesNumber(const Op* op, const IsNumber& is_number) {
  if (op->kind() == OpKind::Pipe || (op->kind() == OpKind::SizeOf && IsAsserted(op->result())))
    return false;
  auto is_attr = [&](const ir::Attr& attr) { return AttrMentions(attr, is_number); };
  auto is_result = [&](const Value* result) {
    return std::ranges::any_of(result->type()->dims,
                               [&](Size dim) { return MentionsNumber(dim, is_number); });
  };
  return std::ranges::any_of(op->attrs(), is_attr) || std::ranges::any_of(op->results(), is_result);
}

const Op* AccessThatShowsBlocks(const Op* loop) {
  std::vector<std::pair<const Value*, std::vector<AccessView>>> memories;
  for (const AccessView& view : proofs::AccessesIn(loop->region())) {
    const Value* memory = ir::MemoryOf(view.tensor);
    auto known = std::ranges::find(memories, memory, [](const auto& of) { return of.first; });
    if (known == memories.end()) known = memories.insert(known, {memory, {}});
    known->second.push_back(view);
  }
  for (const auto& [memory, views] : memories) {
    auto writes = [](const AccessView& view) { return view.effect != ir::Effect::Read; };
    auto updates = [](const AccessView& view) {
      return view.op->kind() == OpKind::Update || view.is_append();
    };
    auto write = std::ranges::find_if(views, writes);
    if (write == views.end() || std::ranges::all_of(views, updates)) continue;
    bool is_once = views.size() == 1 && StoresOnce(views[0], loop);
    if (!is_once && !proofs::AreAtBinder(views, loop->region()->param(0))) return write->op;
  }
  return nullptr;
}

}  // namespace kdl::passes
