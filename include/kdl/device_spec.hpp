// Reads and writes device specs in the syntax that the compiler and the runtime share:
// `kind[ordinal]?key=value&key=value`. A device that is loaded from a plugin is `plugin:PATH[ordinal]?…`,
// where PATH contains no `[`, `?` or `,`.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace kdl {

struct DeviceSpec {
  std::string kind;  // `plugin` for a device from a plugin
  std::string path;  // path of the plugin
  std::int64_t ordinal = 0;
  // The options, in the order in which they are written. Each key occurs only once.
  std::vector<std::pair<std::string, std::string>> options;
};

namespace device_spec {

inline bool IsWord(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_part);
}

inline std::string Quoted(std::string_view text) {
  std::string quoted = "'";
  quoted += text;
  return quoted += '\'';
}

inline bool ReadOrdinal(std::string_view text, std::int64_t& ordinal) {
  if (text.size() < 3 || text.back() != ']') return false;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data() + 1, last, ordinal);
  return error == std::errc() && end == last && ordinal >= 0;
}

inline std::string ReadOption(std::string_view option, DeviceSpec& spec) {
  const std::size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  if (equals == std::string_view::npos || !IsWord(key) || equals + 1 == option.size())
    return Quoted(option) + " is not key=value";
  for (const auto& known : spec.options) {
    if (known.first == key) return Quoted(key) + " is given twice";
  }
  spec.options.emplace_back(key, option.substr(equals + 1));
  return {};
}

}  // namespace device_spec

// Reads one spec. Returns an empty string on success, otherwise a description of the error, such as `'x' is
// not key=value`.
inline std::string ReadDeviceSpec(std::string_view text, DeviceSpec& spec) {
  const std::size_t question = text.find('?');
  std::string_view head = text.substr(0, question);
  if (const std::size_t bracket = head.find('['); bracket != std::string_view::npos) {
    const std::string_view ordinal = head.substr(bracket);
    if (!device_spec::ReadOrdinal(ordinal, spec.ordinal))
      return device_spec::Quoted(ordinal) + " is not an ordinal such as [0]";
    head = head.substr(0, bracket);
  }
  constexpr std::string_view kPlugin = "plugin:";
  if (head.substr(0, kPlugin.size()) == kPlugin && head.size() > kPlugin.size()) {
    spec.path = head.substr(kPlugin.size());
    head = kPlugin.substr(0, kPlugin.size() - 1);
  }
  if (!device_spec::IsWord(head)) return device_spec::Quoted(head) + " is not a kind of device";
  spec.kind = head;
  for (std::size_t at = question; at != std::string_view::npos;) {
    const std::size_t end = text.find('&', at + 1);
    const std::size_t count = end == std::string_view::npos ? end : end - at - 1;
    std::string fault = device_spec::ReadOption(text.substr(at + 1, count), spec);
    if (!fault.empty()) return fault;
    at = end;
  }
  return {};
}

// Returns the shortest text that reads back as the same spec. It omits the ordinal `[0]`.
inline std::string ToString(const DeviceSpec& spec) {
  std::string text = spec.path.empty() ? spec.kind : spec.kind + ":" + spec.path;
  if (spec.ordinal != 0) text += "[" + std::to_string(spec.ordinal) + "]";
  char separator = '?';
  for (const auto& [key, value] : spec.options) {
    text += separator + key + "=" + value;
    separator = '&';
  }
  return text;
}

}  // namespace kdl
