#include "api/rank_agreement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/rank_extremes.h"
#include "api/rank_failures.h"
#include "core/dynamic_scalar.h"
#include "core/element.h"
#include "core/text.h"
#include "kdl/checkpoint_text.hpp"
#include "kdl/first_and_others.hpp"

namespace kdl::runtime {

namespace {

// How many differences an error lists.
constexpr std::size_t kMostListed = 3;

// A number with which a process calls a program: a scalar, or a size of a tensor.
struct CalledNumber {
  std::string name;
  std::uint8_t element;
  std::uint64_t bits;
};

// What the numbers mean. If it is the same in two processes, they have as many numbers.
std::string DescribeTypes(const ProgramCall& call) {
  std::string text = Concat(call.program, "\n", call.code);
  for (const kdl_named_arg& arg : call.args) {
    const kdl_array* array = arg.value.array;
    const std::uint8_t element = array == nullptr ? arg.value.element : array->view.element;
    text += Concat("\n", arg.name, " ", ElementName(element));
    if (array != nullptr) text += Concat(" ", array->view.rank);
  }
  return text;
}

std::vector<CalledNumber> NumbersOf(const ProgramCall& call) {
  std::vector<CalledNumber> numbers;
  for (const kdl_named_arg& arg : call.args) {
    const kdl_array* array = arg.value.array;
    if (array == nullptr)
      numbers.push_back({Concat("'", arg.name, "'"), arg.value.element, arg.value.bits});
    const std::int32_t rank =
        array == nullptr ? 0 : std::clamp<std::int32_t>(array->view.rank, 0, KDL_MAX_RANK);
    for (std::int32_t d = 0; d < rank; ++d)
      numbers.push_back({Concat("size ", d, " of '", arg.name, "'"), KDL_I64,
                         static_cast<std::uint64_t>(array->view.size[d])});
  }
  return numbers;
}

Error OtherProgram() {
  return Invalid(
      "the processes call different programs, or one with different source code, types or "
      "constants; "
      "call the same program in all processes");
}

Error OtherNumbers(const std::vector<CalledNumber>& numbers,
                   const std::vector<Extremes>& extremes) {
  std::vector<std::string> listed;
  std::size_t more = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!extremes[i].differ()) continue;
    if (listed.size() == kMostListed) {
      ++more;
      continue;
    }
    // The process with the smaller number comes first.
    std::pair one(extremes[i].has_least, extremes[i].least);
    std::pair other(extremes[i].has_greatest, extremes[i].greatest);
    if (other < one) std::swap(one, other);
    const std::uint8_t element = numbers[i].element;
    listed.push_back(Concat(numbers[i].name, " is ", TextOfScalar(element, one.second),
                            " in process ", one.first, " and ", TextOfScalar(element, other.second),
                            " in process ", other.first));
  }
  if (more > 0) listed.push_back(Concat(more, more == 1 ? " other differs" : " others differ"));
  std::string text;
  for (const std::string& one : listed) text += (text.empty() ? "" : "; ") + one;
  return Invalid("the processes have different arguments: ", text,
                 "; write the same arguments for all processes");
}

Error AtPlace(const ProgramCall& call, Error error) {
  return call.place == nullptr ? std::move(error)
                               : Prefixed(Concat(call.place, ": error: "), std::move(error));
}

}  // namespace

Error Agree(const kdl_transport& transport, const ProgramCall& call, Error failure) {
  const std::vector<CalledNumber> numbers = NumbersOf(call);
  const std::uint64_t types = checkpoints::ChecksumOf(DescribeTypes(call));
  std::uint64_t values = types;
  for (const CalledNumber& number : numbers) values = checkpoints::Mixed(values + number.bits + 1);
  std::vector<Extremes> sums = {OwnExtremes(transport, types), OwnExtremes(transport, values)};
  AddFailure(transport, failure.get(), sums);
  KDL_RETURN_IF_ERROR(CombineAll(transport, ranks::kControlTag, sums));
  failure = CommonFailure(transport, std::span(sums).last(kFailureValues), std::move(failure));
  if (failure) return failure;
  if (sums[0].differ()) return AtPlace(call, OtherProgram());
  if (!sums[1].differ()) return nullptr;
  std::vector<Extremes> extremes;
  extremes.reserve(numbers.size());
  for (const CalledNumber& number : numbers)
    extremes.push_back(OwnExtremes(transport, number.bits));
  KDL_RETURN_IF_ERROR(CombineAll(transport, ranks::kControlTag, extremes));
  return AtPlace(call, OtherNumbers(numbers, extremes));
}

}  // namespace kdl::runtime
