#include <doctest/doctest.h>

#include <set>
#include <string_view>

#include "tools/explain/tables.h"

namespace kdl::tools {

TEST_CASE("each diagnostic has a unique number") {
  std::set<std::string_view> numbers;
  for (const DiagnosticRow& row : AllDiagnostics()) {
    CHECK_MESSAGE(numbers.insert(row.id).second, row.id);
  }
}

}  // namespace kdl::tools
