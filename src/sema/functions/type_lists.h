#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

namespace kdl::sema {

/// Where a list of types is written: in a `types` item, or after the name of a type parameter.
enum class TypeListPlace : uint8_t { Item, Parameter };

/// Returns the types that a list contains, such as the list in `types Float = f16 | bf16 | other.Wide;`. A
/// name of the list may refer to another `types` item, which adds its types. If a name is not a type, or if a
/// type occurs twice, reports an error and returns an empty list.
std::vector<Scalar> ListedTypes(ModuleState& module, const FileState& file,
                                const std::vector<syntax::TypeName>& names, TypeListPlace place);

/// Returns the types of a `types` item. Errors are reported only once; after an error, the list is empty.
const std::vector<Scalar>& TypesOf(ModuleState& module, const Entity& list);

/// Returns the types as a list for a message: `f16, bf16 or f32`.
std::string TypesText(const std::vector<Scalar>& types);

/// Returns whether the word has a meaning among types, so that a list of types cannot have this name.
bool IsTypeWord(std::string_view word);

}  // namespace kdl::sema
