#include "syntax/ast.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kdl::syntax {

namespace {

#define KDL_SECOND(name, spelling) std::string_view(spelling),
constexpr std::array kUnaryOps = {KDL_UNARY_OPS(KDL_SECOND)};
constexpr std::array kBinaryOps = {KDL_BINARY_OPS(KDL_SECOND)};
constexpr std::array kAssignOps = {KDL_ASSIGN_OPS(KDL_SECOND)};
constexpr std::array kDirections = {KDL_DIRECTIONS(KDL_SECOND)};
#undef KDL_SECOND

}  // namespace

std::string_view Spelling(UnaryOp op) { return kUnaryOps[static_cast<size_t>(op)]; }
std::string_view Spelling(BinaryOp op) { return kBinaryOps[static_cast<size_t>(op)]; }
std::string_view Spelling(AssignOp op) { return kAssignOps[static_cast<size_t>(op)]; }
std::string_view Spelling(Direction direction) {
  return kDirections[static_cast<size_t>(direction)];
}

std::optional<TypeName> AsTypeName(const Expr* expr) {
  const auto* field = DynAs<FieldExpr>(expr);
  if (field != nullptr && !field->name) return std::nullopt;
  const auto* name = DynAs<NameExpr>(field != nullptr ? field->base : expr);
  if (name == nullptr) return std::nullopt;
  TypeName type{{{expr->span}, name->name}, {}};
  if (field != nullptr) type.member = field->name;
  return type;
}

std::string ToString(const TypeName& type) {
  return type.member ? type.name.str() + "." + type.member.name.str() : type.name.str();
}

}  // namespace kdl::syntax
