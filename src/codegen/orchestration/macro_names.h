#pragma once

#include <string_view>

namespace kdl::codegen {

/// Whether the headers that generated code includes may define a macro of this name. None of them ends in `_`.
bool MayBeMacro(std::string_view name);

/// Whether C keeps the name for its own words and macros: `_Bool`, `__linux__`. `name` is not empty.
bool IsReserved(std::string_view name);

}  // namespace kdl::codegen
