#include "ir/tensor_view.h"
#include "proofs/terms.h"

// Handles accesses to one memory through several views. A view is a bijection of indices. If a kernel
// accesses a memory through one view only, the indices of that view are used. Otherwise, the indices of all
// views are converted to indices of the memory. For a view v of a memory x:
//   v splits a dimension of x    v[.., g, k, ..] is x[.., c, ..] with c = g * K + k
//   v merges dimensions of x     v[.., m, ..] is x[.., i, j, ..] with i = m / J, j = m % J

namespace kdl::proofs {

namespace {

/// Converts an index of the view to an index of the tensor or view that it is taken from.
std::vector<Poly> Through(Terms& terms, const ir::Op* view, std::vector<Poly> index) {
  auto [at, from, to] = ir::ViewedDimsOf(view);
  auto first = index.begin() + static_cast<std::ptrdiff_t>(at);
  Poly number = *first;
  for (size_t d = at + 1; d < at + to; ++d)
    number = number * terms.PolyOfSize(view->result()->type()->dims[d]) + index[d];
  std::vector<Poly> parts(from);
  for (size_t i = from; i-- > 1;) {
    Poly size = terms.PolyOfSize(view->operand(0)->type()->dims[at + i]);
    Poly quotient = terms.PolyOfQuotient(number, size);
    parts[i] = number - size * quotient;
    number = quotient;
  }
  parts[0] = number;
  first = index.erase(first, first + static_cast<std::ptrdiff_t>(to));
  index.insert(first, parts.begin(), parts.end());
  return index;
}

}  // namespace

const Value* Terms::Coordinates(const Value* tensor) {
  const Value* memory = ir::MemoryOf(tensor);
  auto [known, is_new] = coordinates_.try_emplace(memory, nullptr);
  if (!is_new) return known->second;
  const Value* only = nullptr;
  for (const AccessView& view : AccessesOf(memory))
    only = only == nullptr || only == view.tensor ? view.tensor : memory;
  return known->second = only ? only : memory;
}

std::vector<Poly> Terms::PolysOfElement(const AccessView& view) {
  std::vector<Poly> index;
  for (size_t d = 0; d < view.rank(); ++d) index.push_back(PolyOfIndex(view, d));
  const Value* end = Coordinates(view.tensor);
  for (const Value* tensor = view.tensor; tensor != end; tensor = tensor->def()->operand(0))
    index = Through(*this, tensor->def(), std::move(index));
  return index;
}

}  // namespace kdl::proofs
