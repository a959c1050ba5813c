#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::syntax {

/// The words and signs from the beginning of a statement or item with an error, up to its first `;` or brace outside of
/// parentheses. The error is at `error`.
struct FaultyPhrase {
  std::vector<std::string_view> words;
  size_t error = 0;
};

/// Returns what to write instead of a line such as `#define BLOCK 64`, which begins with `#`.
std::string HelpForDirective(std::string_view line);

/// Returns what to write instead of the head of a function of another language, such as `__global__ void f(…)`. Returns an
/// empty string if the phrase is not one.
std::string HelpForForeignItem(const FaultyPhrase& phrase);

/// Returns what to write instead of a statement or expression of another language, such as `for (int i = 0; i < n; i++)`,
/// `__shared__ float t[64];` or `std::exp(x)`. Returns an empty string if the phrase is not one.
std::string HelpForForeignStatement(const FaultyPhrase& phrase);

/// Returns what to write instead of a qualifier of another language before a type, such as `uniform`. Returns an empty
/// string if the word is not one.
std::string HelpForQualifier(std::string_view word);

/// Returns what to write instead of `name<type>operand`, such as `static_cast<float>(x)`, or an empty string.
std::string HelpForAngles(std::string_view name, std::string_view type, std::string_view operand);

}  // namespace kdl::syntax
