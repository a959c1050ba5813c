#include "driver/run/summary.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "support/json_text.h"

namespace kdl::driver {

namespace {

constexpr int64_t kWhole = 64;  ///< tensors with at most this number of elements are shown in full
constexpr int64_t kFirst = 8;   ///< number of elements shown of a larger tensor

int64_t StoredElementCount(const HostTensor& tensor) {
  return static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
}

/// Returns the text of dimension `dim` and the dimensions inside it, beginning with element `at`.
/// Advances `at` past the elements.
std::string Nested(const HostTensor& tensor, size_t dim, int64_t& at) {
  if (dim == tensor.shape.size()) return ElementText(tensor.scalar, ElementBits(tensor, at++));
  std::string text = "[";
  for (int64_t i = 0; i < tensor.shape[dim]; ++i)
    text += (i == 0 ? "" : ", ") + Nested(tensor, dim + 1, at);
  return text + "]";
}

/// Returns the elements as nested lists, like Nested.
nlohmann::ordered_json NestedJson(const HostTensor& tensor, size_t dim, int64_t& at) {
  if (dim == tensor.shape.size()) {
    std::string text = ElementText(tensor.scalar, ElementBits(tensor, at++));
    nlohmann::ordered_json number = nlohmann::ordered_json::parse(text, nullptr, false);
    return number.is_discarded() ? nlohmann::ordered_json(text) : number;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (int64_t i = 0; i < tensor.shape[dim]; ++i) list.push_back(NestedJson(tensor, dim + 1, at));
  return list;
}

bool IsShown(const BoundArgument& argument) {
  return argument.is_tensor && argument.direction != ir::Direction::In && !argument.is_absent;
}

/// Returns the index of element n, such as `[3, 4]`.
std::string IndexText(const HostTensor& tensor, int64_t n) {
  std::vector<int64_t> index(tensor.shape.size());
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = n % tensor.shape[i];
    n /= tensor.shape[i];
  }
  return fmt::format("[{}]", fmt::join(index, ", "));
}

bool SameElement(Scalar scalar, uint64_t a, uint64_t b) {
  return a == b || (IsNaN(scalar, a) && IsNaN(scalar, b));
}

double Distance(Scalar scalar, uint64_t a, uint64_t b) {
  double distance = std::abs(ElementValue(scalar, a) - ElementValue(scalar, b));
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

std::string WithBits(Scalar scalar, uint64_t bits) {
  return fmt::format("{} (0x{:0{}x})", ElementText(scalar, bits), bits, Info(scalar).bits / 4);
}

}  // namespace

std::string ElementsText(const HostTensor& tensor) {
  int64_t count = StoredElementCount(tensor);
  int64_t at = 0;
  if (count <= kWhole) return count == 0 && tensor.shape.size() > 1 ? "[]" : Nested(tensor, 0, at);
  std::string text = "[";
  for (; at < kFirst; ++at) text += ElementText(tensor.scalar, ElementBits(tensor, at)) + ", ";
  return text + "…]";
}

std::string Summary(const BoundProgram& program) {
  std::string text;
  for (const BoundArgument& argument : program.arguments) {
    if (!IsShown(argument)) continue;
    const HostTensor& tensor = argument.tensor;
    text += fmt::format("{}: {}", argument.name, TypeText(tensor.scalar, tensor.shape));
    text += argument.part ? ", distributed" : " = " + ElementsText(tensor);
    text += argument.out_path.empty() ? "\n" : fmt::format(" -> {}\n", argument.out_path);
  }
  return text;
}

std::string OutputsJson(const BoundProgram& program) {
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const BoundArgument& argument : program.arguments) {
    if (!IsShown(argument)) continue;
    const HostTensor& tensor = argument.tensor;
    nlohmann::ordered_json output = {
        {"name", argument.name}, {"type", Info(tensor.scalar).spelling}, {"shape", tensor.shape}};
    int64_t at = 0;
    if (!argument.part && StoredElementCount(tensor) <= kWhole)
      output["values"] = NestedJson(tensor, 0, at);
    if (!argument.out_path.empty()) output["file"] = argument.out_path;
    outputs.push_back(std::move(output));
  }
  return JsonText(outputs);
}

std::string Difference(const HostTensor& actual, const HostTensor& reference,
                       const std::string& name) {
  Scalar scalar = actual.scalar;
  int64_t count = StoredElementCount(actual);
  int64_t differing = 0;
  int64_t worst = 0;
  double largest = -1;
  for (int64_t n = 0; n < count; ++n) {
    uint64_t a = ElementBits(actual, n);
    uint64_t b = ElementBits(reference, n);
    if (SameElement(scalar, a, b)) continue;
    ++differing;
    double distance = Distance(scalar, a, b);
    if (distance <= largest) continue;
    largest = distance;
    worst = n;
  }
  if (differing == 0) return {};
  return fmt::format("{} of {} elements; the worst is {}{}: {}, but the reference has {}",
                     differing, count, name, IndexText(actual, worst),
                     WithBits(scalar, ElementBits(actual, worst)),
                     WithBits(scalar, ElementBits(reference, worst)));
}

}  // namespace kdl::driver
