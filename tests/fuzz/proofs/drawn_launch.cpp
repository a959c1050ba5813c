#include "drawn_launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/op_kind.h"
#include "proofs/proofs.h"

namespace kdl::fuzz {

namespace {

/// The maximum number of elements of a tensor. The sizes of a counterexample may be large, for instance to
/// show that an i32 is too small for an index.
constexpr int64_t kMostElements = 1 << 20;

}  // namespace

std::string ToText(const Sizes& sizes) {
  std::string text;
  for (const auto& [name, value] : sizes)
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  return text;
}

DrawnLaunch::DrawnLaunch(const ir::Function& kernel, const Sizes& sizes, uint64_t seed)
    : random_(seed) {
  for (const ir::Generic& generic : kernel.generics) AddConstant(generic, sizes);
  if (!MeetsStatics(kernel)) return;
  for (const ir::Param& param : kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind == ir::TypeKind::Tensor) {
      if (!AddTensor(type, sizes)) return;
      std::string_view name = param.value->name().text();
      if (name.starts_with("off") || name == "first" || name == "rows") MakeTable();
      if (name == "first") first_ = arguments_.tensors.size() - 1;
      if (name == "length") MakeLengths();
    } else {
      auto given = sizes.find(param.value->name().str());
      int64_t drawn = Number(param.value->name().text());
      int64_t value = given == sizes.end() ? drawn : given->second;
      arguments_.scalars.push_back(static_cast<uint64_t>(value));
      said_ += fmt::format("{} = {}, ", param.value->name().text(), value);
    }
  }
  fits_ = true;
}

Result<std::optional<interp::Trap>> DrawnLaunch::Interpret(const ir::Module& module,
                                                           const ir::Function& kernel,
                                                           int64_t cores, uint64_t order,
                                                           bool watch) const {
  return interp::RunKernel(module, kernel, arguments_, cores,
                           {order, {}, Sanitizers{watch, watch}});
}

/// Generates a number. It is small unless the parameter with this name is meant to overflow 64 bits.
int64_t DrawnLaunch::Number(std::string_view name) {
  static constexpr int64_t kMost[] = {INT64_MAX, INT64_MIN, int64_t{1} << 62, -1, 0, 5};
  static constexpr int64_t kWide[] = {4294967295, int64_t{1} << 30, int64_t{1} << 31, 1, 0, 5};
  // Some of these values, times three, exceed the limits of their types.
  static constexpr int64_t kTurn[] = {1431655766, 2147483647, 715827883, 1, 0, 2};
  static constexpr int64_t kByte[] = {255, 254, 16, 1, 0, 3};
  size_t pick = random_() % 6;
  return name == "most" || name == "big" ? kMost[pick]
         : name == "wide"                ? kWide[pick]
         : name == "turn"                ? kTurn[pick]
         : name == "byte"                ? kByte[pick]
                                         : static_cast<int64_t>(pick) - 1;
}

void DrawnLaunch::AddConstant(const ir::Generic& generic, const Sizes& sizes) {
  auto given = sizes.find(generic.name.str());
  int64_t drawn = 1 + static_cast<int64_t>(random_() % 4);
  if (!generic.choices.empty()) drawn = generic.choices[random_() % generic.choices.size()];
  if (!generic.values.empty()) drawn = generic.values[random_() % generic.values.size()];
  int64_t value = given == sizes.end() ? drawn : given->second;
  arguments_.constants[generic.name.str()] = value;
  said_ += fmt::format("{} = {}, ", generic.name.text(), value);
}

/// Returns whether all `static_assert` statements accept the constants.
bool DrawnLaunch::MeetsStatics(const ir::Function& kernel) const {
  proofs::Sizes constants;
  for (const ir::Generic& generic : kernel.generics)
    constants[generic.name] = arguments_.constants.at(generic.name.str());
  bool meets = true;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() == ir::OpKind::StaticAssert)
      meets = meets && proofs::ConstantBits(op->operand(0), constants) != 0;
  });
  return meets;
}

/// Fills the last tensor with bounds of parts of a dimension, or each of its rows. They mostly ascend from 0 to the end.
void DrawnLaunch::MakeTable() {
  const interp::TensorArgument& table = arguments_.tensors.back();
  int64_t count = table.sizes.back();
  int64_t rows = table.sizes.size() > 1 ? table.sizes[0] : 1;
  for (int64_t row = 0; row < rows && count > 0; ++row) {
    int32_t* first = static_cast<int32_t*>(table.data) + row * count;
    if (random_() % 8 != 0) std::sort(first, first + count);
    if (random_() % 4 == 0) continue;
    first[0] = 0;
    first[count - 1] = static_cast<int32_t>(count - 1);
  }
}

/// Fills the last tensor with lengths of parts that start at the values of the table `first`, which precedes it.
/// Mostly each part ends where the next part starts.
void DrawnLaunch::MakeLengths() {
  auto count = arguments_.tensors.back().sizes[0];
  if (count == 0 || random_() % 8 == 0) return;
  const auto* first = static_cast<const int32_t*>(arguments_.tensors[first_].data);
  auto* length = static_cast<int32_t*>(arguments_.tensors.back().data);
  for (int64_t e = 0; e < count; ++e)
    length[e] = (e + 1 < count ? first[e + 1] : static_cast<int32_t>(count)) - first[e];
  if (random_() % 4 == 0)
    length[random_() % static_cast<uint64_t>(count)] += random_() % 2 == 0 ? 1 : -1;
}

bool DrawnLaunch::AddTensor(ir::Type type, const Sizes& sizes) {
  interp::TensorArgument tensor;
  tensor.scalar = type->scalar;
  size_t count = 1;
  bool is_empty = !type->dims.empty() && IsConstant(type->dims.back(), 0);
  for (Size dim : type->dims) {
    auto value = [&](Name symbol) {
      auto found = sizes.find(symbol.str());
      return found == sizes.end() ? std::nullopt : std::optional<int64_t>(found->second);
    };
    std::optional<int64_t> size = Evaluate(dim, value);
    if (!size || *size < 0 || (*size > kMostElements && !is_empty)) return false;
    tensor.sizes.push_back(*size);
    count = is_empty ? 0 : count * static_cast<size_t>(*size);
    if (count > static_cast<size_t>(kMostElements)) return false;
  }
  tensor.strides = interp::RowMajorStrides(tensor.sizes);
  // Integers are used as indices; most of them are in bounds.
  int64_t first = tensor.sizes.empty() ? 1 : std::max<int64_t>(tensor.sizes[0], 1);
  memory_.emplace_back((count + 1) * 4);
  for (size_t n = 0; n < count; ++n) {
    auto whole = static_cast<int32_t>(static_cast<int64_t>(random_() % 16) % first);
    auto number = static_cast<float>(whole - 1);
    if (IsInteger(type->scalar))
      std::memcpy(memory_.back().data() + 4 * n, &whole, 4);
    else
      std::memcpy(memory_.back().data() + 4 * n, &number, 4);
  }
  tensor.data = memory_.back().data();
  arguments_.tensors.push_back(std::move(tensor));
  return true;
}

}  // namespace kdl::fuzz
