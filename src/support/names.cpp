#include "support/names.h"

namespace kdl {

Name Names::Intern(std::string_view text) {
  if (auto found = table_.find(text); found != table_.end()) return Name(found->second.get());
  auto owned = std::make_unique<std::string>(text);
  const std::string* stored = owned.get();
  table_.emplace(std::string_view(*stored), std::move(owned));
  return Name(stored);
}

std::string CIdentifier(std::string_view text) {
  std::string identifier;
  for (char c : text) {
    bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    identifier += allowed ? c : '_';
  }
  return identifier;
}

}  // namespace kdl
