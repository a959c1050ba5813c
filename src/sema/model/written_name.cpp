#include "sema/model/written_name.h"

namespace kdl::sema {

std::string_view WrittenName(const Entity& function) {
  std::string_view name = function.name.text();
  bool is_builtin = function.prefix == "std::" && name.ends_with(kValueSuffix);
  return is_builtin ? name.substr(0, name.size() - kValueSuffix.size()) : name;
}

}  // namespace kdl::sema
