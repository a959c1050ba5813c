#include "sema/walk/foreign_names.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace kdl::sema {

namespace {

struct ForeignName {
  std::string_view name;
  std::string_view meaning;
};

constexpr ForeignName kNames[] = {
#define KDL_FOREIGN(name, help) {name, help},
#include "sema/walk/foreign_names.def"
};

constexpr ForeignName kTypes[] = {
#define KDL_FOREIGN_TYPE(name, type) {name, type},
#include "sema/walk/foreign_types.def"
};

template <size_t N>
std::string_view Find(const ForeignName (&names)[N], std::string_view name) {
  const ForeignName* found = std::ranges::find(names, name, &ForeignName::name);
  return found == std::end(names) ? std::string_view() : found->meaning;
}

}  // namespace

std::string HelpForForeign(std::string_view name) { return std::string(Find(kNames, name)); }

std::string_view TypeForForeign(std::string_view name) { return Find(kTypes, name); }

}  // namespace kdl::sema
