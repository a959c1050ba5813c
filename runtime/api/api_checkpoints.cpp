// The C interface of checkpoints.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/rank_extremes.h"
#include "api/rank_group.h"
#include "checkpoints/checkpoints.h"
#include "core/element.h"
#include "kdl/checkpoint_text.hpp"
#include "kdl/checkpoints.h"
#include "kdl/first_and_others.hpp"
#include "system/shared_file.h"

using namespace kdl::runtime;

struct kdl_checkpoints {
  kdl_ranks* ranks;  // null if the program has none
  std::string code;
  std::string resume;  // the file at whose checkpoint the program continues, or ""
  std::map<std::string, std::int64_t, std::less<>> reached = {};  // how often, by file
  TemporaryObserver observer = {};

  const kdl_transport* transport() const { return ranks == nullptr ? nullptr : ranks->transport(); }
};

namespace {

std::size_t BytesOfElement(std::uint8_t element) {
  const ElementFacts* facts = FactsOfElement(element);
  return facts == nullptr ? 0 : facts->bits / 8;
}

SavedNumber NumberAt(const void* value, std::uint8_t element) {
  SavedNumber number{element, 0};
  std::memcpy(&number.bits, value, BytesOfElement(element));
  return number;
}

// The elements of a tensor that is not distributed: all processes read them, and the first one writes them.
SavedPart WholePart(const kdl_array& array, const kdl_transport* transport) {
  const std::vector<std::int64_t> sizes(array.view.size, array.view.size + array.view.rank);
  return {array, {kdl::ranks::WholeBox(sizes)}, transport == nullptr || transport->rank == 0};
}

Saved SavedOf(const kdl_checkpoints& checkpoints, const char* file,
              std::span<const kdl_named_array> tensors) {
  Saved saved{checkpoints.code, file, {}, {}};
  for (const kdl_named_array& tensor : tensors) {
    SavedTensor& one = saved.tensors.emplace_back(SavedTensor{tensor.name, tensor.array->view, {}});
    if (checkpoints.ranks != nullptr) one.parts = checkpoints.ranks->OwnedParts(*tensor.array);
    const bool is_whole = one.parts.empty();
    if (is_whole) one.parts.push_back(WholePart(*tensor.array, checkpoints.transport()));
  }
  return saved;
}

// Checks that the program has a checkpoint in the file at which it is to continue.
Error CheckResume(const char* program, const std::string& resume,
                  std::span<const char* const> files) {
  if (resume.empty() || std::ranges::find(files, resume) != files.end()) return nullptr;
  std::vector<std::string> names;
  for (const char* file : files) names.push_back(Concat("'", file, "'"));
  return Invalid("the program '", program, "' has no checkpoint in '", resume,
                 "', so it cannot continue there; it has checkpoints in ", JoinWords(names));
}

// Checks that all processes continue at the same checkpoint, or none. Otherwise, one would wait for another one to read the file.
Error AgreeOnResume(const kdl_ranks* ranks, const std::string& resume) {
  if (ranks == nullptr || ranks->transport() == nullptr) return nullptr;
  const kdl_transport& transport = *ranks->transport();
  const std::uint64_t file = resume.empty() ? 0 : kdl::checkpoints::ChecksumOf(resume) | 1;
  std::vector<Extremes> files = {OwnExtremes(transport, file)};
  KDL_RETURN_IF_ERROR(CombineAll(transport, kdl::ranks::kControlTag, files));
  const Extremes& of_all = files[0];
  if (!of_all.differ()) return nullptr;
  const auto [first, second] = std::minmax(of_all.has_least, of_all.has_greatest);
  if (of_all.least != 0)
    return Invalid(
        "process ", first, " and process ", second,
        " continue at checkpoints in different files; resume all processes with the same "
        "file");
  return Invalid("process ", of_all.has_greatest, " continues at a checkpoint, but process ",
                 of_all.has_least,
                 " starts from the beginning; resume all processes with the same file, or none");
}

// The ranks have received elements that are out of date.
Error ForgetReceived(kdl_ranks* ranks, std::span<const kdl_named_array> tensors) {
  for (const kdl_named_array& tensor : tensors) {
    if (!ranks->OwnedParts(*tensor.array).empty())
      KDL_RETURN_IF_ERROR(Error(kdl_ranks_rewritten(ranks, tensor.array)));
  }
  return nullptr;
}

}  // namespace

kdl_error* kdl_context_resume(kdl_context* context, const char* file) {
  KDL_RETURN_IF_UNUSABLE(context);
  return Guard([&]() -> Error {
    Unwrap(context)->set_resume(file == nullptr ? ""
                                                : kdl::checkpoints::NameOf(file, CurrentFolder()));
    return nullptr;
  });
}

kdl_error* kdl_checkpoints_create(kdl_context* context, kdl_ranks* ranks, const char* program,
                                  const char* code, const char* const* files,
                                  std::int32_t file_count, kdl_checkpoints** checkpoints) {
  KDL_RETURN_IF_UNUSABLE(context, program, code, files, checkpoints);
  return Guard([&]() -> Error {
    std::string resume = Unwrap(context)->TakeResume();
    KDL_RETURN_IF_ERROR(
        CheckResume(program, resume, {files, static_cast<std::size_t>(file_count)}));
    KDL_RETURN_IF_ERROR(AgreeOnResume(ranks, resume));
    *checkpoints = new kdl_checkpoints{ranks, code, std::move(resume)};
    return nullptr;
  });
}

void kdl_checkpoints_free(kdl_checkpoints* checkpoints) { delete checkpoints; }

void kdl_checkpoints_observe(kdl_checkpoints* checkpoints,
                             void (*changed)(void* state, const char* temporary), void* state) {
  checkpoints->observer = {changed, state};
}

kdl_error* kdl_checkpoints_restore(kdl_checkpoints* checkpoints, const char* file,
                                   const kdl_variable* numbers, std::int32_t number_count,
                                   const kdl_named_array* tensors, std::int32_t tensor_count) {
  KDL_RETURN_IF_UNUSABLE(checkpoints, file);
  return Guard([&]() -> Error {
    const std::span variables(numbers, static_cast<std::size_t>(number_count));
    const std::span arrays(tensors, static_cast<std::size_t>(tensor_count));
    KDL_RETURN_IF_ERROR(CheckReplaceable(file, checkpoints->transport()));
    if (checkpoints->resume != file) return nullptr;
    Saved saved = SavedOf(*checkpoints, file, arrays);
    for (const kdl_variable& variable : variables)
      saved.numbers.push_back(NumberAt(variable.value, variable.element));
    bool is_found = false;
    KDL_RETURN_IF_ERROR(ReadCheckpoint(saved, checkpoints->transport(), &is_found));
    for (std::size_t i = 0; i < variables.size(); ++i)
      std::memcpy(variables[i].value, &saved.numbers[i].bits, BytesOfElement(variables[i].element));
    return is_found && checkpoints->ranks != nullptr ? ForgetReceived(checkpoints->ranks, arrays)
                                                     : nullptr;
  });
}

kdl_error* kdl_checkpoints_write(kdl_checkpoints* checkpoints, const char* file, std::int64_t every,
                                 const kdl_arg* numbers, std::int32_t number_count,
                                 const kdl_named_array* tensors, std::int32_t tensor_count) {
  KDL_RETURN_IF_UNUSABLE(checkpoints, file);
  return Guard([&]() -> Error {
    if (every < 1)
      return Invalid("a checkpoint cannot be written every ", every,
                     " iterations: the number must be positive");
    if (++checkpoints->reached[file] % every != 0) return nullptr;
    Saved saved = SavedOf(*checkpoints, file, {tensors, static_cast<std::size_t>(tensor_count)});
    for (const kdl_arg& number : std::span(numbers, static_cast<std::size_t>(number_count)))
      saved.numbers.push_back(NumberAt(&number.bits, number.element));
    return WriteCheckpoint(saved, checkpoints->transport(), checkpoints->observer);
  });
}
