#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/functions.h"
#include "codegen/c_source/writer.h"
#include "ir/op_table.h"
#include "ir/requirement.h"
#include "kdl/queue.h"
#include "support/check.h"

// Writes the checks before a kernel runs, which are those of the runtime (runtime/core/binding.h) for pointers to
// tensors without gaps: sizes, memory, overlaps, and the conditions of `where` clauses and of proofs.

namespace kdl::codegen::c_source {

namespace {

constexpr std::string_view kBytesOf =
    "// The bytes of a tensor, or -1 if a size is negative or if there are too many bytes.\n"
    "static inline int64_t kdl_bytes(int64_t bytes, const int64_t* sizes, int rank) {\n"
    "  int empty = 0;\n"
    "  for (int d = 0; d < rank; ++d) {\n"
    "    if (sizes[d] < 0) return -1;\n"
    "    if (sizes[d] == 0) empty = 1;\n"
    "  }\n"
    "  for (int d = 0; d < rank && !empty; ++d) {\n"
    "    if (bytes > PTRDIFF_MAX / sizes[d]) return -1;\n"
    "    bytes *= sizes[d];\n"
    "  }\n"
    "  return empty ? 0 : bytes;\n"
    "}\n";

struct CheckedTensor {
  const FaceParam* param;
  std::string bytes;  ///< the variable with its bytes
};

std::string_view CompareText(ir::CompareKind compare) {
  switch (compare) {
    case ir::CompareKind::Eq:
      return "==";
    case ir::CompareKind::Ne:
      return "!=";
    case ir::CompareKind::Lt:
      return "<";
    case ir::CompareKind::Le:
      return "<=";
    case ir::CompareKind::Gt:
      return ">";
    case ir::CompareKind::Ge:
      return ">=";
  }
  KDL_UNREACHABLE("unknown comparison {}", static_cast<int>(compare));
}

std::string Place(const ir::Loc& loc) {
  if (loc.line == 0) return "";
  return fmt::format("{}:{}:{}: ", loc.file.text(), loc.line, loc.column);
}

void RefuseUnless(Writer& w, std::string_view ok, std::string_view what) {
  w.Line("if (!({})) return {};", ok, Literal(what));
}

void RefuseLaunch(Writer& w, std::string_view ok, std::string_view what) {
  RefuseUnless(w, ok, fmt::format("launch of '{}': {}", w.kernel.base_name(), what));
}

/// Writes the checks after a size was computed. `text` is what the size is for, and `source` its source text.
void RefuseWrong(Writer& w, bool may_divide_by_zero, std::string_view place, std::string_view text,
                 std::string_view source) {
  if (may_divide_by_zero)
    w.Line("if (kdl_wrong == 1) return {};",
           Literal(fmt::format("{}division by zero in '{}'", place, text)));
  w.Line("if (kdl_wrong == 2) return {};",
         Literal(fmt::format("{}'{}' does not fit in 64 bits", place, source)));
}

void CheckSizes(Writer& w, const FaceCall& call) {
  for (const FaceConstant& size : call.sizes) {
    RefuseLaunch(w, size.name + " >= 0", fmt::format("the size {} is negative", size.source_name));
    RefuseLaunch(
        w, fmt::format("{} <= INT64_C({})", size.name, KDL_LARGEST_SIZE),
        fmt::format("size {} is too large; the maximum is {}", size.source_name, KDL_LARGEST_SIZE));
  }
}

void CheckTensor(Writer& w, const CheckedTensor& tensor) {
  const auto& [param, bytes] = tensor;
  RefuseLaunch(w, bytes + " >= 0",
               fmt::format("the tensor for {} has a negative size or too many bytes",
                           param->param->value->name().text()));
  std::string_view name = param->param->value->name().text();
  RefuseLaunch(w, fmt::format("{} || {} == 0", param->name, bytes),
               fmt::format("the tensor for {} is at a null pointer", name));
  int size = Bytes(param->param->value->type()->scalar);
  if (size == 1) return;
  w.helpers.Define("kdl_is_multiple",
                   "static inline int kdl_is_multiple(const void* p, unsigned bytes) {\n"
                   "  return (uintptr_t)p % bytes == 0;\n"
                   "}\n");
  RefuseLaunch(
      w, fmt::format("kdl_is_multiple({}, {}) || {} == 0", param->name, size, bytes),
      fmt::format("the tensor for {} is at an address that is not a multiple of {}", name, size));
}

void CheckOverlaps(Writer& w, const std::vector<CheckedTensor>& tensors) {
  auto is_written = [](const CheckedTensor& tensor) {
    return tensor.param->param->direction != ir::Direction::In;
  };
  for (size_t a = 0; a < tensors.size(); ++a) {
    for (size_t b = a + 1; b < tensors.size(); ++b) {
      if (!is_written(tensors[a]) && !is_written(tensors[b])) continue;
      w.helpers.Define(
          "kdl_apart",
          "static inline int kdl_apart(const void* a, int64_t a_bytes, const void* b, int64_t "
          "b_bytes) {\n"
          "  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;\n"
          "  if (a_bytes == 0 || b_bytes == 0) return 1;\n"
          "  return x + (uintptr_t)a_bytes <= y || y + (uintptr_t)b_bytes <= x;\n"
          "}\n");
      RefuseLaunch(w,
                   fmt::format("kdl_apart({}, {}, {}, {})", tensors[a].param->name,
                               tensors[a].bytes, tensors[b].param->name, tensors[b].bytes),
                   fmt::format("the tensors for {} and {} share memory",
                               tensors[a].param->param->value->name().text(),
                               tensors[b].param->param->value->name().text()));
    }
  }
}

void CheckRequirement(Writer& w, const Op* op) {
  Size left = op->attr<ir::AttrKey::Left>();
  Size right = op->attr<ir::AttrKey::Right>();
  std::string_view sign = CompareText(op->attr<ir::AttrKey::Compare>());
  std::string_view text = op->attr<ir::AttrKey::Text>().text();
  std::string place = Place(op->loc());
  std::string what = op->FindAttr(ir::AttrKey::Dimension)
                         ? fmt::format("{}'{}' reaches an index outside dimension {}", place, text,
                                       op->attr<ir::AttrKey::Dimension>())
                         : fmt::format("{}'{}' does not hold", place, text);
  if (IsSafe(left) && IsSafe(right))
    return RefuseUnless(w, fmt::format("{} {} {}", SizeText(w, left), sign, SizeText(w, right)),
                        what);
  w.Line("{{");
  ++w.depth;
  w.Line("int kdl_wrong = 0;");
  for (bool is_right : {false, true}) {
    Size side = is_right ? right : left;
    w.Line("const int64_t kdl_{} = {};", is_right ? "right" : "left", CheckedSizeText(w, side));
    if (!IsSafe(side))
      RefuseWrong(w, MayDivideByZero(side), place, text, ir::SideSource(op, is_right));
  }
  RefuseUnless(w, fmt::format("kdl_left {} kdl_right", sign), what);
  --w.depth;
  w.Line("}}");
}

}  // namespace

void WriteBytes(Writer& w, const std::string& name, ir::Type tensor, std::string_view text) {
  if (tensor->dims.empty()) return w.Line("const int64_t {} = {};", name, Bytes(tensor->scalar));
  w.helpers.Define("kdl_bytes", std::string(kBytesOf));
  bool is_safe = std::ranges::all_of(tensor->dims, IsSafe);
  std::string sizes;
  for (Size dim : tensor->dims) sizes += (sizes.empty() ? "" : ", ") + CheckedSizeText(w, dim);
  w.Line("int64_t {};", name);
  w.Line("{{");
  ++w.depth;
  if (!is_safe) w.Line("int kdl_wrong = 0;");
  w.Line("const int64_t kdl_sizes[] = {{{}}};", sizes);
  if (!is_safe) RefuseWrong(w, std::ranges::any_of(tensor->dims, MayDivideByZero), "", text, text);
  w.Line("{} = kdl_bytes({}, kdl_sizes, {});", name, Bytes(tensor->scalar), tensor->dims.size());
  --w.depth;
  w.Line("}}");
}

void WriteLaunchChecks(Writer& w, const FaceCall& call) {
  CheckSizes(w, call);
  std::vector<CheckedTensor> tensors;
  for (const FaceParam& param : call.params) {
    if (!param.is_tensor || param.is_absent) continue;
    tensors.push_back({&param, "kdl_bytes_of_" + param.name});
    WriteBytes(w, tensors.back().bytes, param.param->value->type(), param.declared);
    CheckTensor(w, tensors.back());
  }
  CheckOverlaps(w, tensors);
  for (const Op* op : *w.kernel.body)
    if (op->kind() == OpKind::Require) CheckRequirement(w, op);
}

}  // namespace kdl::codegen::c_source
