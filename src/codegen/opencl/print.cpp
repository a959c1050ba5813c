#include "codegen/opencl/writer.h"
#include "ir/views.h"

// Kernels print into a buffer that the host reads after the launch, as described in `include/kdl/workgroup_abi.h`.

namespace kdl::codegen::opencl {

namespace {

using ir::Op;
using ir::Value;

/// Returns an expression for the bits of a value, as a `long`.
std::string BitsText(Scalar scalar, std::string_view text) {
  if (scalar == Scalar::F32) return fmt::format("as_int({})", text);
  if (scalar == Scalar::F64) return fmt::format("as_long({})", text);
  return fmt::format("(long){}", text);
}

/// A printed value. If it is a buffer, `sizes` are the sizes of its valid part.
struct Printed {
  const Value* value;
  std::vector<std::string> sizes;
};

std::vector<Printed> PrintedBy(const Writer& w, const Op* op) {
  std::vector<Printed> all;
  auto sizes = op->Segment(ir::PrintOp::at_sizes);
  size_t next = 0;
  for (const Value* value : op->Segment(ir::PrintOp::at_values)) {
    Printed& printed = all.emplace_back(Printed{value, {}});
    for (size_t d = 0; d < value->type()->dims.size(); ++d)
      printed.sizes.emplace_back(w.Get(sizes[next++]));
  }
  return all;
}

std::string CountText(const std::vector<Printed>& all) {
  std::string count = "4";
  for (const Printed& printed : all) {
    std::string elements = "1";
    for (const std::string& size : printed.sizes) elements += " * " + size;
    count += fmt::format(" + {} + {}", 2 + printed.sizes.size(), elements);
  }
  return count;
}

void WriteElements(Writer& w, const Printed& printed) {
  Scalar scalar = printed.value->type()->scalar;
  if (printed.value->type()->kind != ir::TypeKind::Buffer)
    return w.Line("kdl_prints[kdl_at++] = {};", BitsText(scalar, w.Get(printed.value)));
  const Memory& memory = w.memories.at(printed.value);
  std::string offset = "0";
  for (size_t d = 0; d < printed.sizes.size(); ++d) {
    w.Line("for (long kdl_d{0} = 0; kdl_d{0} < {1}; ++kdl_d{0})", d, printed.sizes[d]);
    offset += fmt::format(" + kdl_d{}", d);
    if (!memory.strides[d].empty()) offset += fmt::format(" * {}", memory.strides[d]);
  }
  std::string element = fmt::format("{}[{}]", memory.base, offset);
  w.Line("  kdl_prints[kdl_at++] = {};", BitsText(scalar, element));
}

void WritePrint(Writer& w, const Op* op) {
  std::vector<Printed> all = PrintedBy(w, op);
  w.Line("{}{{", w.traps ? fmt::format("if ({}) ", w.live()) : "");
  ++w.depth;
  w.Line("const long kdl_count = {};", CountText(all));
  w.Line("long kdl_at = kdl_take(kdl_prints, kdl_count);");
  w.Line("if (kdl_at > 0) {{");
  ++w.depth;
  for (const std::string& number :
       {std::string("kdl_count"), std::to_string(LocationIndex(w.code, LocationOf(op, 0))),
        std::string("kdl_core"), std::to_string(all.size())})
    w.Line("kdl_prints[kdl_at++] = {};", number);
  for (const Printed& printed : all) {
    w.Line("kdl_prints[kdl_at++] = {};", ElementCode(printed.value->type()->scalar));
    w.Line("kdl_prints[kdl_at++] = {};", printed.sizes.size());
    for (const std::string& size : printed.sizes) w.Line("kdl_prints[kdl_at++] = {};", size);
    WriteElements(w, printed);
  }
  --w.depth;
  w.Line("}}");
  --w.depth;
  w.Line("}}");
}

}  // namespace

KDL_WRITE(Print, WritePrint)

}  // namespace kdl::codegen::opencl
