#include "tools/lsp/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "driver/report.h"
#include "support/background.h"
#include "support/json_text.h"

namespace kdl::tools::lsp {

namespace {

constexpr std::string_view kEndOfHeader = "\r\n\r\n";
constexpr std::string_view kLength = "content-length:";

/// Returns the number of bytes that a header states.
std::optional<size_t> LengthIn(std::string_view header) {
  std::string lower(header);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  size_t at = lower.find(kLength);
  if (at == std::string::npos) return std::nullopt;
  at = lower.find_first_not_of(' ', at + kLength.size());
  size_t length = 0;
  const char* end = lower.data() + lower.size();
  if (at == std::string::npos || std::from_chars(lower.data() + at, end, length).ec != std::errc())
    return std::nullopt;
  return length;
}

}  // namespace

bool Connection::Read() { return ReadAvailable(kDescriptor, input_); }

std::optional<std::string> Connection::Take() {
  size_t end = input_.find(kEndOfHeader);
  if (end == std::string::npos) return std::nullopt;
  std::optional<size_t> length = LengthIn(std::string_view(input_).substr(0, end));
  if (!length) {
    is_broken_ = true;
    return std::nullopt;
  }
  size_t begin = end + kEndOfHeader.size();
  if (input_.size() - begin < *length) return std::nullopt;
  std::string text = input_.substr(begin, *length);
  input_.erase(0, begin + *length);
  return text;
}

void Connection::Send(const Json& message) {
  std::string text = JsonText(message);
  driver::PrintOutput(fmt::format("Content-Length: {}\r\n\r\n{}", text.size(), text));
}

void Connection::Reply(const Json& id, const Json& result) {
  Send({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

void Connection::Fail(const Json& id, int code, const std::string& text) {
  Send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}});
}

void Connection::Notify(const std::string& method, const Json& params) {
  Send({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
}

}  // namespace kdl::tools::lsp
