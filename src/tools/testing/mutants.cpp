#include "tools/testing/mutants.h"

#include <fmt/format.h>

#include <cmath>

#include "interp/contract.h"
#include "support/float_bits.h"

namespace kdl::tools {

namespace {

int64_t StoredElementCount(const driver::HostTensor& tensor) {
  return static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
}

driver::HostTensor Filled(driver::HostTensor tensor, int64_t number) {
  uint64_t bits = driver::NumberBits(tensor.scalar, number);
  for (int64_t n = 0; n < StoredElementCount(tensor); ++n) driver::SetElementBits(tensor, n, bits);
  return tensor;
}

/// Changes one element: a number to NaN, a NaN to 1, and an integer or bool to its complement.
driver::HostTensor WithAnother(driver::HostTensor tensor, int64_t element) {
  uint64_t bits = driver::ElementBits(tensor, element);
  bool is_number = IsFloat(tensor.scalar) && !std::isnan(FloatValue(tensor.scalar, bits));
  uint64_t other = is_number                       ? FloatBits(tensor.scalar, std::nan(""))
                   : IsFloat(tensor.scalar)        ? driver::NumberBits(tensor.scalar, 1)
                   : tensor.scalar == Scalar::Bool ? bits ^ 1
                                                   : ~bits;
  driver::SetElementBits(tensor, element, other);
  return tensor;
}

}  // namespace

void Mutants::Try(const driver::BoundContract& contract, const driver::BoundProgram& before,
                  const driver::BoundProgram& after) {
  for (size_t i = 0; i < after.arguments.size(); ++i) {
    const driver::BoundArgument& output = after.arguments[i];
    if (!output.is_tensor || output.direction == ir::Direction::In) continue;
    for (int64_t number : {0, 1})
      TryOne(contract, before, after, i, fmt::format("= {}", number),
             Filled(output.tensor, number));
    int64_t count = StoredElementCount(output.tensor);
    auto change = [&](std::string_view which, int64_t element) {
      TryOne(contract, before, after, i, fmt::format("with another {} element", which),
             WithAnother(output.tensor, element));
    };
    if (count >= 1) change("first", 0);
    if (count >= 3) change("second", 1);
    if (count >= 3) change("last", count - 1);
    for (const driver::BoundArgument& input : before.arguments) {
      bool fits = input.is_tensor && input.direction != ir::Direction::Out &&
                  input.tensor.scalar == output.tensor.scalar &&
                  input.tensor.shape == output.tensor.shape;
      // A single number of an input may be close to the right one by chance, with few digits of bf16.
      if (fits && (count > 1 || !IsFloat(output.tensor.scalar)))
        TryOne(contract, before, after, i, fmt::format("= a copy of {}", input.name), input.tensor);
    }
  }
}

void Mutants::TryOne(const driver::BoundContract& contract, const driver::BoundProgram& before,
                     const driver::BoundProgram& after, size_t output, const std::string& what,
                     driver::HostTensor mutant) {
  std::string name = fmt::format("{} {}", after.arguments[output].name, what);
  if (refused_.contains(name) || mutant.bytes == after.arguments[output].tensor.bytes) return;
  tried_.insert(name);
  driver::BoundProgram wrong = after;
  wrong.arguments[output].tensor = std::move(mutant);
  interp::ContractData data = driver::EvaluatorData(contract, before, wrong);
  if (interp::BrokenEquation(*contract.contract, data)) refused_.insert(name);
}

/// If the contract accepts an output that is replaced as a whole, the mutants with single changed
/// elements of that output are not listed.
std::string Mutants::Accepted() const {
  constexpr std::string_view kIsAll = " = ";
  std::string text;
  std::set<std::string> unspoken;
  auto add = [&](bool all) {
    for (const std::string& name : tried_) {
      bool is_all = name.find(kIsAll) != std::string::npos;
      std::string output = name.substr(0, name.find(' '));
      if (refused_.contains(name) || is_all != all || (!all && unspoken.contains(output))) continue;
      text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
      if (all) unspoken.insert(output);
    }
  };
  add(true);
  add(false);
  return text;
}

}  // namespace kdl::tools
