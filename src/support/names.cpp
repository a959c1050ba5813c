#include "support/names.h"

namespace kdl {

Name Names::Intern(std::string_view text) {
  if (auto found = table_.find(text); found != table_.end()) return Name(found->second.get());
  auto owned = std::make_unique<std::string>(text);
  const std::string* stored = owned.get();
  table_.emplace(std::string_view(*stored), std::move(owned));
  return Name(stored);
}

}  // namespace kdl
