#include "core/spec.h"

#include <algorithm>

namespace kdl::runtime {

namespace {

bool IsWord(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_letter);
}

Error ParseOptions(std::string_view text, std::string_view whole, DeviceSpec* spec) {
  for (std::string_view option : Split(text, '&')) {
    const std::size_t equals = option.find('=');
    const std::string_view key = option.substr(0, equals);
    if (equals == std::string_view::npos || !IsWord(key) || equals + 1 == option.size()) {
      return Invalid("device spec '", whole, "': '", option, "' is not key=value");
    }
    for (const auto& known : spec->options) {
      if (known.first == key) {
        return Invalid("device spec '", whole, "': ", key, " is given twice");
      }
    }
    spec->options.emplace_back(key, option.substr(equals + 1));
  }
  return nullptr;
}

}  // namespace

Error ParseDeviceSpec(std::string_view text, DeviceSpec* spec) {
  DeviceSpec parsed;
  const std::size_t question = text.find('?');
  std::string_view head = text.substr(0, question);
  if (const std::size_t bracket = head.find('['); bracket != std::string_view::npos) {
    const std::string_view ordinal = head.substr(bracket);
    if (ordinal.size() < 3 || ordinal.back() != ']' ||
        !ParseInteger(ordinal.substr(1, ordinal.size() - 2), &parsed.ordinal) ||
        parsed.ordinal < 0) {
      return Invalid("device spec '", text, "': '", ordinal, "' is not an ordinal such as [0]");
    }
    head = head.substr(0, bracket);
  }
  const bool is_plugin = head.starts_with("plugin:") && head.size() > 7;
  if (!is_plugin && !IsWord(head)) {
    return Invalid("device spec '", text,
                   "' has no kind; it reads kind[ordinal]?key=value, such as "
                   "host, debug[1] or host?threads=4");
  }
  parsed.kind = head;
  if (question != std::string_view::npos) {
    KDL_RETURN_IF_ERROR(ParseOptions(text.substr(question + 1), text, &parsed));
  }
  *spec = std::move(parsed);
  return nullptr;
}

std::string CanonicalSpec(const DeviceSpec& spec) {
  std::string text = spec.kind;
  if (spec.ordinal != 0) text += Concat("[", spec.ordinal, "]");
  auto options = spec.options;
  std::sort(options.begin(), options.end());
  char separator = '?';
  for (const auto& [key, value] : options) {
    text += Concat(std::string_view(&separator, 1), key, "=", value);
    separator = '&';
  }
  return text;
}

}  // namespace kdl::runtime
