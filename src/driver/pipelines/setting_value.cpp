#include "driver/pipelines/setting_value.h"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "support/near_names.h"

namespace kdl::driver {

namespace {

Result<int64_t> Operand(std::string_view word, const Variables& variables) {
  if (word.starts_with('$')) {
    std::optional<int64_t> value = variables(word.substr(1));
    if (value) return *value;
    return Failure{
        fmt::format("'{}' is neither a parameter of the file nor a property of the target", word)};
  }
  int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size()) return value;
  return Failure{fmt::format("'{}' is not a whole number", word)};
}

}  // namespace

Result<int64_t> SettingValue(std::string_view text, const Variables& variables) {
  std::vector<std::string_view> words = NamesIn(text);
  if (words.size() != 1 && words.size() != 3)
    return Failure{fmt::format("'{}' is not a number, `$NAME`, `A * B` or `A / B`", text)};
  Result<int64_t> first = Operand(words[0], variables);
  if (!first || words.size() == 1) return first;
  Result<int64_t> second = Operand(words[2], variables);
  if (!second) return second;
  if (words[1] == "*") {
    int64_t product = 0;
    if (!__builtin_mul_overflow(*first, *second, &product)) return product;
    return Failure{fmt::format("'{}' does not fit into 64 bits", text)};
  }
  if (words[1] != "/") return Failure{fmt::format("'{}' is not `*` or `/`", words[1])};
  if (*second <= 0) return Failure{fmt::format("'{}' divides by {}", text, *second)};
  return *first / *second;
}

}  // namespace kdl::driver
