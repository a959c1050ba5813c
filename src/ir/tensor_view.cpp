#include "ir/tensor_view.h"

#include <fmt/format.h>

#include "ir/op_info.h"

namespace kdl::ir {

namespace {

/// Returns whether the result of the op shares memory with its operand.
bool ShowsMemory(const Op* op) {
  return op && !op->results().empty() && op->result()->type()->kind == TypeKind::Tensor &&
         op->info().has_operand(Effect::Shows);
}

}  // namespace

Value* MemoryOf(Value* tensor) {
  while (ShowsMemory(tensor->def())) tensor = tensor->def()->operand(0);
  return tensor;
}

namespace {

void AddUsers(const Value* tensor, std::vector<Op*>& users) {
  for (const Use& use : tensor->uses()) {
    if (ShowsMemory(use.user)) {
      AddUsers(use.user->result(), users);
    } else {
      users.push_back(use.user);
    }
  }
}

}  // namespace

std::vector<Op*> UsersOfMemory(const Value* tensor) {
  std::vector<Op*> users;
  AddUsers(MemoryOf(tensor), users);
  return users;
}

ViewedDims ViewedDimsOf(const Op* view) {
  auto dimension = static_cast<size_t>(view->attr<AttrKey::Dimension>());
  size_t before = view->operand(0)->type()->dims.size();
  size_t after = view->result()->type()->dims.size();
  return before > after ? ViewedDims{dimension, before - after + 1, 1}
                        : ViewedDims{dimension, 1, after - before + 1};
}

std::string_view ViewedName(const Op* view) {
  // A view that changes several groups of dimensions is a sequence of ops with the same name. Skip them all, and slices,
  // which have no name.
  const Value* tensor = view->operand(0);
  auto is_part = [&] {
    return tensor->name() == view->result()->name() || tensor->name().text().empty();
  };
  while (MemoryOf(tensor) != tensor && is_part()) tensor = tensor->def()->operand(0);
  return tensor->name().text();
}

std::string ApartMessage(const Op* view, size_t d, std::string_view stride,
                         std::string_view wanted) {
  auto [first, from, to] = ViewedDimsOf(view);
  return fmt::format(
      "the view '{}' makes one dimension of dimensions {} to {} of {}, which are not contiguous: "
      "the stride of dimension {} is {}, not {}",
      view->result()->name().text(), first, first + from - 1, ViewedName(view), d, stride, wanted);
}

}  // namespace kdl::ir
