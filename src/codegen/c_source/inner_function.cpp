#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/functions.h"
#include "ir/op_table.h"
#include "support/check.h"

// Writes the function that runs one core of a kernel.

namespace kdl::codegen::c_source {

namespace {

std::string ParameterText(const FaceParam& param) {
  Scalar scalar = param.param->value->type()->scalar;
  if (!param.is_tensor) return fmt::format("{} {}", MemoryType(scalar), param.name);
  std::string_view qualifier = param.param->direction == ir::Direction::In ? "const " : "";
  return fmt::format("{}{}* {}", qualifier, MemoryType(scalar), param.name);
}

/// Returns row-major strides of a tensor, as texts.
std::vector<std::string> Strides(const Writer& w, ir::Type tensor) {
  std::vector<std::string> strides(tensor->dims.size());
  std::string count;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = count;
    std::string size = SizeText(w, tensor->dims[d]);
    count = count.empty() ? size : fmt::format("({} * {})", size, count);
  }
  return strides;
}

/// Memory that all cores share, which the public function allocates.
void BindLaunchTensors(Writer& w) {
  int64_t number = 0;
  ir::Walk(w.kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::LaunchTensor) return;
    std::string name = w.NewName(op->result());
    w.Line("{0}* const {1} = ({0}*)kdl_shared[{2}];", MemoryType(op->result()->type()->scalar),
           name, number++);
    w.memories[op->result()] = {name, Strides(w, op->result()->type())};
  });
}

/// Only KIR text can have a size that is the size of no tensor.
std::optional<NotInC> UnknownSize(const ir::Function& kernel, const FaceCall& call) {
  for (Name dim : kernel.dims) {
    if (std::ranges::find(call.sizes, dim.text(), &FaceConstant::source_name) != call.sizes.end())
      continue;
    return NotInC{kernel.loc, std::string(kernel.base_name()),
                  fmt::format("the size '{}', which no tensor has", dim.text())};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> Parameters(const FaceCall& call) {
  std::vector<std::string> items;
  for (const FaceConstant& size : call.sizes) items.push_back("int64_t " + size.name);
  for (const FaceParam& param : call.params)
    if (!param.is_absent) items.push_back(ParameterText(param));
  return items;
}

void BindParameters(Writer& w, const FaceCall& call) {
  const ir::Function& kernel = w.kernel;
  for (const FaceConstant& size : call.sizes) w.taken.insert(size.name);
  for (const FaceParam& param : call.params) w.taken.insert(param.name);
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    auto size = std::ranges::find(call.sizes, kernel.dims[i].text(), &FaceConstant::source_name);
    KDL_CHECK(size != call.sizes.end(), "no tensor has the size '{}'", kernel.dims[i].text());
    w.values[kernel.dim_value(i)] = {size->name, 0};
  }
  for (size_t p = 0, given = 0; p < kernel.params.size(); ++p) {
    const ir::Value* value = kernel.params[p].value;
    if (value->type()->kind == ir::TypeKind::Workspace) continue;
    const std::string& name = call.params[given++].name;
    if (value->type()->kind == ir::TypeKind::Tensor) {
      w.memories[value] = {name, Strides(w, value->type())};
    } else {
      bool is_bool = value->type()->scalar == Scalar::Bool;
      w.values[value] = {is_bool ? fmt::format("({} != 0)", name) : name, 0};
    }
  }
}

namespace {

/// The function that runs a core. `parameters` are those of the function that runs its blocks.
std::string OnCoreText(const KernelFace& face, const std::vector<std::string>& parameters) {
  std::vector<std::string> names;
  for (const std::string& one : parameters) names.push_back(one.substr(one.find_last_of(" *") + 1));
  codegen::Writer writer;
  writer.List(fmt::format("static const char* {}(", face.on_core()), parameters, ") {");
  writer.Line("  const uint64_t kdl_before = kdl_enter_float_default();");
  writer.List(fmt::format("  const char* const kdl_error = {}(", face.blocks()), names, ");");
  writer.Line("  kdl_leave_float_default(kdl_before);");
  writer.Line("  return kdl_error;");
  writer.Line("}");
  return writer.Take();
}

}  // namespace

InnerFunctionText InnerFunction(const KernelFace& face, Helpers& helpers,
                                std::span<const ir::MatrixInstruction* const> instructions) {
  Writer w{*face.lowered, helpers, instructions};
  if (std::optional<NotInC> failure = UnknownSize(w.kernel, *face.call)) return {"", 0, failure};
  BindParameters(w, *face.call);
  BindLaunchTensors(w);
  WriteRegion(w, face.lowered->body);
  std::vector<std::string> items = {"int64_t kdl_core", "int64_t kdl_cores", "char* kdl_scratch",
                                    "void* const* kdl_shared"};
  for (std::string& item : Parameters(*face.call)) items.push_back(std::move(item));
  codegen::Writer head;
  head.List(fmt::format("KDL_NOINLINE static const char* {}(", face.blocks()), items, ") {");
  return {head.Take() +
              "  (void)kdl_core, (void)kdl_cores, (void)kdl_scratch, (void)kdl_shared;\n" + w.text +
              "  return 0;\n}\n\n" + OnCoreText(face, items),
          w.scratch_bytes, w.failure};
}

}  // namespace kdl::codegen::c_source
