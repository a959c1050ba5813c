#include "syntax/foreign_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "support/scalar.h"

namespace kdl::syntax {

namespace {

struct ForeignName {
  std::string_view name;
  std::string_view meaning;
};

constexpr ForeignName kNames[] = {
#define KDL_FOREIGN(name, help) {name, help},
#include "syntax/foreign_names.def"
};

constexpr ForeignName kAtomics[] = {
#define KDL_FOREIGN_ATOMIC(name, operation) {name, operation},
#include "syntax/foreign_names.def"
};

constexpr ForeignName kTypes[] = {
#define KDL_FOREIGN_TYPE(name, type) {name, type},
#include "syntax/foreign_types.def"
};

template <size_t N>
std::string_view Find(const ForeignName (&names)[N], std::string_view name) {
  const ForeignName* found = std::ranges::find(names, name, &ForeignName::name);
  return found == std::end(names) ? std::string_view() : found->meaning;
}

}  // namespace

std::string HelpForForeign(std::string_view name) {
  std::string_view operation = Find(kAtomics, name);
  if (!operation.empty()) return HelpForAtomic(name, "h[k]", operation == "+=" ? "1" : "e");
  return std::string(Find(kNames, name));
}

std::string HelpForAtomic(std::string_view name, std::string_view target, std::string_view value) {
  std::string_view operation = Find(kAtomics, name);
  if (operation.empty()) return {};
  std::string update = fmt::format("{} {} {};", target, operation, value);
  if (operation != "+=") return fmt::format("write `atomic {}`", update);
  return fmt::format("write `atomic {0}`, or `reduce {0}` for a fixed order", update);
}

std::string_view TypeMeant(std::string_view word) {
  if (std::optional<Scalar> scalar = ScalarFromSpelling(word)) return Spelling(*scalar);
  return Find(kTypes, word);
}

}  // namespace kdl::syntax
