#include "sema/model/entity.h"

#include <fmt/format.h>

#include "support/check.h"

namespace kdl::sema {

std::string_view Describe(EntityKind kind) {
  switch (kind) {
#define KDL_KIND(name, text) \
  case EntityKind::name:     \
    return text;
    KDL_ENTITIES(KDL_KIND)
#undef KDL_KIND
  }
  KDL_UNREACHABLE("entity kind {}", static_cast<int>(kind));
}

std::string ToString(const Type& type) {
  switch (type.kind) {
    case TypeKind::Error:
      return "an error";
    case TypeKind::IntLiteral:
      return "an integer literal";
    case TypeKind::FloatLiteral:
      return "a float literal";
    case TypeKind::Range:
      return "a range";
    case TypeKind::String:
      return "a string";
    case TypeKind::Nothing:
      return "no value";
    case TypeKind::Tuple: {
      std::string parts;
      for (const Type& part : type.parts)
        parts += fmt::format("{}{}", parts.empty() ? "" : ", ", ToString(part));
      return fmt::format("({})", parts);
    }
    case TypeKind::Pipe:
    case TypeKind::Value:
    case TypeKind::Tensor:
      break;
  }
  std::string inner;
  for (const Entity* range : type.ranges) {
    inner += fmt::format("{}{}", inner.empty() ? "" : ", ", range->name.text());
  }
  for (Size dim : type.dims) {
    inner += fmt::format("{}{}", inner.empty() ? "" : ", ", ToString(dim));
  }
  return inner.empty() && !type.is_tensor() ? std::string(Spelling(type.scalar))
                                            : fmt::format("{}[{}]", Spelling(type.scalar), inner);
}

}  // namespace kdl::sema
