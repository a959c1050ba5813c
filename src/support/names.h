#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace kdl {

/// An interned identifier: equal strings from one Names table have equal addresses. Cheap to copy.
class Name {
 public:
  constexpr Name() = default;
  std::string_view text() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  std::string str() const { return std::string(text()); }
  bool empty() const { return text_ == nullptr; }
  bool operator==(const Name&) const = default;
  /// Compares strings, so that sorting by name does not depend on addresses.
  bool operator<(const Name& other) const { return text() < other.text(); }

 private:
  friend class Names;
  friend struct std::hash<Name>;
  explicit Name(const std::string* text) : text_(text) {}
  const std::string* text_ = nullptr;
};

/// The table of all names of a compilation; it must outlive every Name that it returned.
class Names {
 public:
  Names() = default;
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  Name Intern(std::string_view text);

 private:
  std::unordered_map<std::string_view, std::unique_ptr<std::string>> table_;
};

/// Returns the text, with `_` in place of each byte that a C identifier cannot contain.
std::string CIdentifier(std::string_view text);

}  // namespace kdl

template <>
struct std::hash<kdl::Name> {
  size_t operator()(const kdl::Name& name) const noexcept {
    return std::hash<const void*>{}(name.text_);
  }
};
