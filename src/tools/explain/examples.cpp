#include "tools/explain/examples.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace kdl::tools {

namespace {

constexpr Example kExamples[] = {
#include "explain_examples.inc"
};

// The comments that begin the two programs of a file.
constexpr std::string_view kWrongHead = "// wrong\n";
constexpr std::string_view kRightHead = "\n// right\n";

}  // namespace

std::string_view Example::wrong() const {
  return text.substr(kWrongHead.size(), text.find(kRightHead) - kWrongHead.size());
}

std::string_view Example::right() const {
  return text.substr(text.find(kRightHead) + kRightHead.size());
}

const Example* FindExample(std::string_view id) {
  const auto* found = std::ranges::find(kExamples, id, &Example::id);
  return found == std::end(kExamples) ? nullptr : found;
}

}  // namespace kdl::tools
