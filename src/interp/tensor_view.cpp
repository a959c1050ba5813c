#include "interp/tensor_view.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "ir/op_kind.h"
#include "ir/tensor_view.h"

// Executes views, which use the memory of a tensor with some of its dimensions split or merged.

namespace kdl::interp {

namespace {

uint64_t Times(int64_t a, int64_t b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }

/// Returns the view of a tensor. `sizes` are the sizes of the view.
TensorValue Viewed(const ir::Op* view, TensorValue tensor, std::vector<int64_t> sizes) {
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  auto at = tensor.strides.begin() + static_cast<std::ptrdiff_t>(dims.dimension);
  int64_t stride = at[static_cast<std::ptrdiff_t>(dims.from) - 1];
  std::vector<int64_t> strides(dims.to);
  for (size_t i = dims.to; i-- > 0;) {
    strides[i] = stride;
    stride = static_cast<int64_t>(Times(stride, sizes[dims.dimension + i]));
  }
  at = tensor.strides.erase(at, at + static_cast<std::ptrdiff_t>(dims.from));
  tensor.strides.insert(at, strides.begin(), strides.end());
  tensor.sizes = std::move(sizes);
  return tensor;
}

/// Returns a trap if a merged dimension does not have the stride that the dimensions after it require. The
/// stride does not matter if the tensor has no elements or the dimension has size 1.
std::optional<Trap> BrokenMerge(const ir::Op* view, const TensorValue& tensor) {
  ir::ViewedDims dims = ir::ViewedDimsOf(view);
  if (std::ranges::find(tensor.sizes, 0) != tensor.sizes.end()) return std::nullopt;
  size_t last = dims.dimension + dims.from - 1;
  int64_t wanted = tensor.strides[last];
  for (size_t d = last; d > dims.dimension; --d) {
    wanted = static_cast<int64_t>(Times(wanted, tensor.sizes[d]));
    int64_t stride = tensor.strides[d - 1];
    if (tensor.sizes[d - 1] == 1 || stride == wanted) continue;
    std::string text =
        ir::ApartMessage(view, d - 1, std::to_string(stride), std::to_string(wanted));
    return Trap{KDL_TRAP_SIZES, view, -1, stride, wanted, std::move(text)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Trap> BrokenView(const ir::Function& kernel, const SizeValues& sizes,
                               const std::vector<TensorValue>& tensors) {
  std::unordered_map<const ir::Value*, TensorValue> known;
  size_t number = 0;
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind == ir::TypeKind::Tensor) known[param.value] = tensors[number++];
  }
  for (const ir::Op* op : *kernel.body) {
    if (op->kind() != ir::OpKind::View) continue;
    const TensorValue& tensor = known.at(op->operand(0));
    if (std::optional<Trap> broken = BrokenMerge(op, tensor)) return broken;
    std::vector<int64_t> of_result;
    for (Size dim : op->result()->type()->dims)
      of_result.push_back(EvaluateChecked(dim, sizes.AsSymbols()).value_or(0));
    known[op->result()] = Viewed(op, tensor, std::move(of_result));
  }
  return std::nullopt;
}

namespace {

/// Executes a view in a program. The sizes of the view may have been bound while the program runs.
void RunHostView(Core& core, Activation& here, const Instruction& instruction) {
  const ir::Op* op = instruction.op;
  TensorValue tensor = here.tensor(instruction.operands[0]);
  tensor.strides = core.facts.host->Strides(tensor.id);
  if (std::optional<Trap> broken = BrokenMerge(op, tensor)) return core.Stop(*broken);
  auto symbol = [&](Name name) {
    auto bound = here.sizes.find(name);
    return bound == here.sizes.end() ? here.code->symbols(name) : std::optional(bound->second);
  };
  std::vector<int64_t> sizes;
  for (Size dim : op->result()->type()->dims)
    sizes.push_back(EvaluateChecked(dim, symbol).value_or(0));
  TensorValue viewed = Viewed(op, tensor, std::move(sizes));
  viewed.id = core.facts.host->View({tensor.id, 0, viewed.sizes, std::move(viewed.strides)});
  here.tensor(instruction.results[0]) = {nullptr, viewed.scalar, viewed.sizes, {}, viewed.id};
}

}  // namespace

void RunView(Core& core, Activation& here, const Instruction& instruction) {
  if (core.facts.host) return RunHostView(core, here, instruction);
  here.tensor(instruction.results[0]) =
      Viewed(instruction.op, here.tensor(instruction.operands[0]), instruction.numbers);
}

void RunRowsAdjoin(Core&, Activation& here, const Instruction& instruction) {
  const TensorValue& tensor = here.tensor(instruction.operands[0]);
  size_t last = tensor.sizes.size() - 1;
  here.scalar(instruction.results[0]) = tensor.strides[last - 1] == tensor.sizes[last] ? 1 : 0;
}

}  // namespace kdl::interp
