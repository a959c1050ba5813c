#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace kdl::syntax {

/// What a declaration declares. `Size` and `Index` are names that are declared by their first use: sizes in
/// the types of parameters, and indices in contracts.
// clang-format off
enum class NameKind : uint8_t {
  Import, Const, Types, Device, Fn, Kernel, Program, Test,
  TypeParam, IntParam, FnParam, Param, Size,
  Let, Var, Loop, Range, Domain, Pipe, Stage, View, Auxiliary, Index,
};
// clang-format on

inline constexpr size_t kNoName = ~size_t{0};

/// A declaration of a name.
struct NameDeclaration {
  NameKind kind = NameKind::Let;
  std::string_view name;
  Span span;              ///< of the name
  Span whole;             ///< of the item, statement or parameter that declares it
  Span head;              ///< the same, without the body of a function
  Span scope;             ///< where the name is visible
  size_t item = kNoName;  ///< the item that contains it, or itself for an item
  bool is_exported = false;
};

/// What a name that is not a declaration means.
enum class NameRole : uint8_t {
  Use,        ///< it refers to a declaration, a builtin or a type
  Member,     ///< it follows a dot
  Attribute,  ///< it follows `@`
  Label,      ///< it names an argument, or a part of the language's own syntax
};

/// An occurrence of a name. Declarations are occurrences, too.
struct NameOccurrence {
  std::string_view name;
  Span span;
  NameRole role = NameRole::Use;
  size_t declaration = kNoName;  ///< its declaration in this file; kNoName if there is none
  /// For a member: the declaration of the name before the dot, if that is a plain name.
  size_t qualifier = kNoName;
  bool is_call = false;  ///< arguments follow it
  bool is_type = false;  ///< it is the name of a type
};

/// The names of a file. Since no name can be declared again where it is visible, they follow from the syntax
/// alone, so they are also known in files that have errors.
struct NameIndex {
  std::vector<NameDeclaration> declarations;
  std::vector<NameOccurrence> occurrences;  ///< in the order of their places

  /// Returns the occurrence that contains the offset or ends there, or null.
  const NameOccurrence* At(uint32_t offset) const;
};

struct ParsedText;

/// Finds the names of a text. Ignores errors.
NameIndex IndexNames(const SourceManager& sources, FileId file, const ParsedText& parsed);

}  // namespace kdl::syntax
