#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sema/walk/state.h"

// Tables of constants, which are indexed like tensors: `const W: f32[5] = [1.0, 4.0, 6.0, 4.0, 1.0];`. Tensors of programs
// can get their elements from such lists, too.

namespace kdl::sema {

/// Evaluates a const whose type has constant dimensions, and sets the type and elements of its entity.
/// Returns false after reporting an error.
bool EvaluateTable(FunctionState& state, const syntax::ConstItem& item, Entity& entity);

/// Returns whether the expression lists elements: it is a list, or the name of a table.
bool ListsElements(FunctionState& state, const syntax::Expr* expr);

/// Returns the elements that the expression lists for a tensor of this name and type. Reports an error if the sizes of the tensor
/// are not constant, or if the elements do not have its shape and type.
std::optional<std::vector<uint64_t>> ListedElements(FunctionState& state, const Entity& tensor,
                                                    const Type& type, const syntax::Expr* expr);

/// Returns how to declare the list where a list is not allowed.
std::string ListHelp(const FunctionState& state, const syntax::Expr* list,
                     std::string_view name = "x");

/// Returns the element that an access reads from a table, or nothing if an index is not constant.
std::optional<Constant> TableElement(const IndexInfo& index);

}  // namespace kdl::sema
