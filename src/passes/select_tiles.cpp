#include <fmt/format.h>

#include <string>
#include <vector>

#include "passes/bind_constants.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "support/check.h"

// select-tiles: the auto generics that are still open get the numbers that the target's selector chooses. From here on
// every extent is a number, so a tile that no core can hold is found here.

namespace kdl::passes {

namespace {

/// With 64 partial sums of eight bytes for each element, scratch stays below the 2^40 bytes that a buffer may have.
constexpr int64_t kMaxElements = int64_t{1} << 31;

/// `4294967296 * 64` where the type is a tile of too many elements, else empty.
std::string TooManyElements(const ir::Function& kernel, ir::Type type) {
  if (!ir::IsTile(type)) return "";
  std::string text;
  int64_t left = kMaxElements;
  for (ir::AxisId id : type->axes) {
    int64_t extent = kernel.axis(id).extent->value;
    left /= extent > 1 ? extent : 1;
    text += fmt::format("{}{}", text.empty() ? "" : " * ", extent);
  }
  return left == 0 ? text : "";
}

/// One report a kernel: the same blocks make all of its tiles.
void CheckTiles(PassContext& context, const ir::Function& kernel) {
  bool reported = false;
  ir::Walk(kernel.body, [&](ir::Op* op) {
    for (const ir::Value* result : op->results()) {
      std::string extents = reported ? "" : TooManyElements(kernel, result->type());
      if (extents.empty()) continue;
      reported = true;
      Span span = context.SpanOf(op->loc());
      context.diagnostics
          .Report(diag::TileTooLarge, span.valid() ? span : context.SpanOf(kernel.loc), extents)
          .Help("make the blocks of its ranges smaller: `by 64`");
    }
  });
}

}  // namespace

void RunSelectTiles(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.selector && context.facts, "select-tiles runs for a target");
  std::vector<int64_t> chosen = context.selector->Select(kernel, *context.facts);
  size_t next = 0;
  for (ir::Generic& generic : kernel.generics) {
    if (generic.is_auto && generic.values.empty()) generic.values = {chosen.at(next++)};
  }
  BindConstants(kernel, context.module);
  CheckTiles(context, kernel);
}

}  // namespace kdl::passes
