#include "passes/bind_constants.h"
#include "passes/passes.h"
#include "support/check.h"

// select-tiles: the auto generics that are still open get the numbers that the target's selector chooses.

namespace kdl::passes {

void RunSelectTiles(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.selector && context.facts, "select-tiles runs for a target");
  std::vector<int64_t> chosen = context.selector->Select(kernel, *context.facts);
  size_t next = 0;
  for (ir::Generic& generic : kernel.generics) {
    if (generic.is_auto && generic.values.empty()) generic.values = {chosen.at(next++)};
  }
  BindConstants(kernel, context.module);
}

}  // namespace kdl::passes
