#include "tools/mutants.h"

#include <fmt/format.h>

#include "interp/contract.h"

namespace kdl::tools {

namespace {

driver::HostTensor Filled(driver::HostTensor tensor, int64_t number) {
  uint64_t bits = driver::NumberBits(tensor.scalar, number);
  auto count = static_cast<int64_t>(tensor.bytes.size()) / Bytes(tensor.scalar);
  for (int64_t n = 0; n < count; ++n) driver::SetElementBits(tensor, n, bits);
  return tensor;
}

}  // namespace

void Mutants::Try(const driver::BoundContract& contract, const driver::BoundProgram& before,
                  const driver::BoundProgram& after) {
  for (size_t i = 0; i < after.arguments.size(); ++i) {
    const driver::BoundArgument& output = after.arguments[i];
    if (!output.is_tensor || output.direction == ir::Direction::In) continue;
    for (int64_t number : {0, 1})
      TryOne(contract, before, after, i, fmt::format("{}", number), Filled(output.tensor, number));
    for (const driver::BoundArgument& input : before.arguments) {
      bool fits = input.is_tensor && input.direction != ir::Direction::Out &&
                  input.tensor.scalar == output.tensor.scalar &&
                  input.tensor.shape == output.tensor.shape;
      if (fits)
        TryOne(contract, before, after, i, fmt::format("a copy of {}", input.name), input.tensor);
    }
  }
}

void Mutants::TryOne(const driver::BoundContract& contract, const driver::BoundProgram& before,
                     const driver::BoundProgram& after, size_t output, const std::string& what,
                     driver::HostTensor mutant) {
  std::string name = fmt::format("{} = {}", after.arguments[output].name, what);
  if (refused_.contains(name) || mutant.bytes == after.arguments[output].tensor.bytes) return;
  tried_.insert(name);
  driver::BoundProgram wrong = after;
  wrong.arguments[output].tensor = std::move(mutant);
  interp::ContractData data = driver::DataOf(contract, before, wrong);
  if (interp::BrokenEquation(*contract.contract, data)) refused_.insert(name);
}

std::string Mutants::Accepted() const {
  std::string text;
  for (const std::string& name : tried_) {
    if (!refused_.contains(name)) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  }
  return text;
}

}  // namespace kdl::tools
