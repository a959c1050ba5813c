#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace kdl::tools::lsp {

using Json = nlohmann::json;

/// The messages that an editor writes to standard input, and those for it on standard output. Each has a header with
/// the number of its bytes.
class Connection {
 public:
  static constexpr int kDescriptor = 0;  ///< of the input

  /// Reads the bytes that are available. Returns false at the end of the input.
  bool Read();
  /// Returns the text of the next message that has been read completely.
  std::optional<std::string> Take();
  /// Whether the header of a message was wrong, so that the input cannot be used any more.
  bool is_broken() const { return is_broken_; }

  void Send(const Json& message);
  void Reply(const Json& id, const Json& result);
  void Fail(const Json& id, int code, const std::string& text);
  void Notify(const std::string& method, const Json& params);

 private:
  std::string input_;
  bool is_broken_ = false;
};

}  // namespace kdl::tools::lsp
