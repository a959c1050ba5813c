#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/bind_constants.h"
#include "support/check.h"

// select-tiles: binds the remaining `auto` generics to the values that the target's selector chooses. All
// extents are constants from here on, so this pass also rejects tiles that are too large for any core.

namespace kdl::passes {

namespace {

/// A reduction may need 64 partial sums of eight bytes for each element. With this limit, they fit into 2^40
/// bytes, the largest possible buffer.
constexpr int64_t kMaxElements = int64_t{1} << 31;

/// Returns text like `4294967296 * 64` if the type is a tile with too many elements, otherwise an empty
/// string.
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

/// Reports at most one tile for each kernel, because the same blocks determine the size of all its tiles.
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

std::string ConstantsText(const ir::Function& kernel) {
  std::string text;
  for (const ir::Generic& generic : kernel.generics) {
    if (generic.values.size() == 1)
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", generic.name.text(),
                          generic.values[0]);
  }
  return text;
}

/// Returns text like `0` or `(256 / 0)` if the extent is not a valid number of elements, otherwise an empty
/// string.
std::string BadExtent(Size extent, int64_t least) {
  bool is_good = IsConstant(extent) && extent->value >= least;
  return is_good ? "" : ToString(extent);
}

/// A whole dimension may be empty; a block may not.
int64_t LeastExtent(const ir::Axis& axis) { return axis.domain == axis.extent ? 0 : 1; }

bool DividesByZero(Size size) {
  if (!size->lhs) return false;
  bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
  return (divides && IsConstant(size->rhs, 0)) || DividesByZero(size->lhs) ||
         DividesByZero(size->rhs);
}

/// Checks extents that are expressions of constants: with the chosen values, they must be valid numbers of
/// elements. `Check` returns false if it has reported an error.
class ExtentChecker {
 public:
  ExtentChecker(PassContext& context, const ir::Function& kernel)
      : context_(context), kernel_(kernel) {}

  bool Check() {
    ir::Walk(kernel_.body, [&](ir::Op* op) {
      for (const ir::Value* result : op->results()) CheckType(op, result->type());
      for (const ir::Region* region : op->regions()) {
        for (const ir::Value* param : region->params()) CheckType(op, param->type());
      }
    });
    return reported_.empty();
  }

 private:
  void CheckType(const ir::Op* op, ir::Type type) {
    if (type->kind == ir::TypeKind::Block) {
      const ir::Axis& axis = kernel_.axis(type->axes[0]);
      Report(op, fmt::format("range '{}'", axis.name.text()),
             BadExtent(axis.extent, LeastExtent(axis)));
    } else if (type->kind == ir::TypeKind::Pipe || op->kind() == ir::OpKind::LaunchTensor) {
      bool is_pipe = type->kind == ir::TypeKind::Pipe;
      for (Size dim : type->dims) {
        std::string bad = is_pipe ? BadExtent(dim, 1) : DividesByZero(dim) ? ToString(dim) : "";
        Report(op,
               fmt::format("{} '{}'", is_pipe ? "pipe" : "tensor",
                           op->attr<ir::AttrKey::Name>().text()),
               bad);
      }
    }
  }

  void Report(const ir::Op* op, const std::string& what, const std::string& extent) {
    if (extent.empty() || !reported_.insert(what).second) return;
    Span span = context_.SpanOf(op->loc());
    context_.diagnostics.Report(diag::BadExtent, span.valid() ? span : context_.SpanOf(kernel_.loc),
                                what, extent, ConstantsText(kernel_));
  }

  PassContext& context_;
  const ir::Function& kernel_;
  std::set<std::string> reported_;
};

}  // namespace

void RunSelectTiles(PassContext& context, ir::Function& kernel) {
  KDL_CHECK(context.selector, "select-tiles needs a target");
  std::vector<int64_t> chosen = context.selector->Select(kernel);
  size_t next = 0;
  for (ir::Generic& generic : kernel.generics) {
    if (generic.is_auto && generic.values.empty()) generic.values = {chosen.at(next++)};
  }
  BindConstants(kernel, context.module);
  if (ExtentChecker(context, kernel).Check()) CheckTiles(context, kernel);
}

}  // namespace kdl::passes
