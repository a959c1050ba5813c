#include "targets/spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "support/result.h"

namespace kdl::targets {

namespace {

Failure Malformed(std::string_view text, std::string_view what) {
  return {
      fmt::format("target '{}': {}; write it as host, host?isa=x86-64-v3 or opencl[1]", text, what),
      FailureKind::Usage};
}

bool IsWord(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

Status AddOption(Spec& spec, std::string_view option) {
  size_t equals = option.find('=');
  if (equals == std::string_view::npos || !IsWord(option.substr(0, equals))) {
    return Malformed(spec.text, fmt::format("'{}' is not key=value", option));
  }
  std::string key(option.substr(0, equals));
  for (const auto& [earlier, value] : spec.options) {
    if (earlier == key) return Malformed(spec.text, fmt::format("key '{}' stands twice", key));
  }
  spec.options.emplace_back(std::move(key), option.substr(equals + 1));
  return {};
}

}  // namespace

Result<Spec> ParseSpec(std::string_view text) {
  Spec spec;
  spec.text = text;
  size_t question = text.find('?');
  std::string_view head = text.substr(0, question);
  if (size_t open = head.find('['); open != std::string_view::npos) {
    std::string_view ordinal = head.substr(open);
    std::string_view digits = ordinal.substr(1, std::max<size_t>(ordinal.size(), 2) - 2);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), spec.ordinal);
    if (!ordinal.ends_with(']') || digits.empty() || error != std::errc() ||
        end != digits.data() + digits.size() || spec.ordinal < 0) {
      return Malformed(text, fmt::format("'{}' is not an ordinal such as [0]", ordinal));
    }
    head = head.substr(0, open);
  }
  constexpr std::string_view kPlugin = "plugin:";
  if (head.starts_with(kPlugin) && head.size() > kPlugin.size()) {
    spec.path = head.substr(kPlugin.size());
    head = kPlugin.substr(0, kPlugin.size() - 1);
  }
  if (!IsWord(head)) return Malformed(text, fmt::format("'{}' is no kind of target", head));
  spec.kind = head;
  if (question == std::string_view::npos) return spec;
  std::string_view rest = text.substr(question + 1);
  while (true) {
    size_t end = rest.find('&');
    Status added = AddOption(spec, rest.substr(0, end));
    if (!added) return added.failure();
    if (end == std::string_view::npos) return spec;
    rest = rest.substr(end + 1);
  }
}

std::string ToString(const Spec& spec) {
  std::string text = spec.path.empty() ? spec.kind : fmt::format("{}:{}", spec.kind, spec.path);
  if (spec.ordinal != 0) text += fmt::format("[{}]", spec.ordinal);
  char separator = '?';
  for (const auto& [key, value] : spec.options) {
    text += fmt::format("{}{}={}", separator, key, value);
    separator = '&';
  }
  return text;
}

}  // namespace kdl::targets
