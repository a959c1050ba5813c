#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"
#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/orchestration.h"
#include "ir/op_table.h"
#include "support/check.h"

// Writes NAME.source.c and NAME.source.h: the kernels as functions, with the checks before they run.

namespace kdl::codegen {

namespace c_source {

std::string_view VariableType(Scalar scalar) {
  return scalar == Scalar::Bool ? "int" : MemoryType(scalar);
}

std::string_view MemoryType(Scalar scalar) {
  return scalar == Scalar::Bool ? "uint8_t" : Info(scalar).c_type;
}

std::string VectorType(Scalar scalar, int64_t lanes, int mask_bits) {
  return scalar == Scalar::Bool ? fmt::format("kdl_m{}x{}", mask_bits, lanes)
                                : fmt::format("kdl_{}x{}", Spelling(scalar), lanes);
}

int64_t PaddedLanes(int64_t lanes) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(lanes)));
}

std::string Writer::NewName(const ir::Value* value) {
  std::string base;
  if (value) {
    std::string_view text = value->name().text();
    if (text.empty() && value->def()) text = value->def()->info().spelling;
    for (char c : text) base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  // The number at the end distinguishes these names from keywords, macros and functions.
  std::string name = base.empty() ? "v" : base + "_";
  for (size_t number = taken.size();; ++number) {
    std::string tried = fmt::format("{}{}", name, number);
    if (taken.insert(tried).second) return tried;
  }
}

std::string Writer::Type(const ir::Value* value, int mask_bits) {
  Scalar scalar = value->type()->scalar;
  if (!ir::IsVector(value->type())) return std::string(VariableType(scalar));
  return helpers.Vector(scalar, ir::Lanes(value->type()), mask_bits);
}

void Writer::Define(const ir::Value* value, std::string_view expression, int mask_bits) {
  bool is_mask = ir::IsVector(value->type()) && value->type()->scalar == Scalar::Bool;
  int bits = is_mask ? mask_bits : 0;
  std::string name = NewName(value);
  Line("const {} {} = {};", Type(value, bits), name, expression);
  values[value] = {name, bits};
}

void Writer::Refuse(const Op* op, std::string_view what) {
  if (!failure) failure = NotInC{op->loc(), std::string(kernel.base_name()), std::string(what)};
}

std::string SizeText(const Writer& w, Size size) {
  switch (size->kind) {
    case SizeKind::Constant:
      return ConstantText(Scalar::I64, static_cast<uint64_t>(size->value));
    case SizeKind::Symbol:
      if (size->symbol.text() == ir::kCoreNum) return "kdl_cores";
      for (size_t i = 0; i < w.kernel.dims.size(); ++i)
        if (w.kernel.dims[i] == size->symbol) return w.Get(w.kernel.dim_value(i));
      KDL_UNREACHABLE("'{}' is not the name of a size", size->symbol.text());
    default:
      break;
  }
  std::string a = SizeText(w, size->lhs);
  std::string b = SizeText(w, size->rhs);
  switch (size->kind) {
    case SizeKind::Add:
      return fmt::format("({} + {})", a, b);
    case SizeKind::Sub:
      return fmt::format("({} - {})", a, b);
    case SizeKind::Mul:
      return fmt::format("({} * {})", a, b);
    case SizeKind::FloorDiv:
      return fmt::format("{}({}, {})", w.helpers.Function("div", Scalar::I64), a, b);
    case SizeKind::Mod:
      return fmt::format("{}({}, {})", w.helpers.Function("rem", Scalar::I64), a, b);
    default:
      return fmt::format("{}({}, {})", w.helpers.Function("min", Scalar::I64), a, b);
  }
}

namespace {

/// A kernel, with the names that its function and parameters have in C.
struct KernelFace {
  const FaceCall* call;
  const ir::Function* lowered;

  std::string inner() const { return call->c_name + "_on_core"; }
};

bool HasOp(const ir::Function& kernel, OpKind kind) {
  bool has = false;
  ir::Walk(kernel.body, [&](const Op* op) { has |= op->kind() == kind; });
  return has;
}

/// Whether cores may run at the same time: then no core waits for another one, and none updates what others do.
bool IsParallel(const ir::Function& kernel) {
  return !HasOp(kernel, OpKind::Sync) && !HasOp(kernel, OpKind::Barrier) &&
         !HasOp(kernel, OpKind::Update) && !HasOp(kernel, OpKind::LaunchTensor);
}

std::string ParameterText(const FaceParam& param) {
  Scalar scalar = param.param->value->type()->scalar;
  if (!param.is_tensor) return fmt::format("{} {}", MemoryType(scalar), param.name);
  std::string_view qualifier = param.param->direction == ir::Direction::In ? "const " : "";
  return fmt::format("{}{}* {}", qualifier, MemoryType(scalar), param.name);
}

std::vector<std::string> Parameters(const FaceCall& call) {
  std::vector<std::string> items;
  for (const FaceConstant& size : call.sizes) items.push_back("int64_t " + size.name);
  for (const FaceParam& param : call.params) items.push_back(ParameterText(param));
  return items;
}

std::vector<std::string> Arguments(const FaceCall& call) {
  std::vector<std::string> items;
  for (const FaceConstant& size : call.sizes) items.push_back(size.name);
  for (const FaceParam& param : call.params) items.push_back(param.name);
  return items;
}

/// Returns the requirement that defines a size which no tensor has, or null.
const Op* DefiningRequirement(const ir::Function& kernel, Name dim) {
  for (const Op* op : *kernel.body) {
    if (op->kind() != OpKind::Require || op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq)
      continue;
    Size left = op->attr<ir::AttrKey::Left>();
    if (left->kind == SizeKind::Symbol && left->symbol == dim) return op;
  }
  return nullptr;
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

/// Binds sizes and parameters to the names in the function's signature. Sizes that only `where` determines become
/// variables.
void BindParameters(Writer& w, const KernelFace& face) {
  const ir::Function& kernel = *face.lowered;
  for (const FaceConstant& size : face.call->sizes) w.taken.insert(size.name);
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    const auto& sizes = face.call->sizes;
    auto size = std::ranges::find(sizes, kernel.dims[i].text(), &FaceConstant::source_name);
    if (size != sizes.end()) w.values[kernel.dim_value(i)] = {size->name, 0};
  }
  for (size_t i = 0; i < kernel.dims.size(); ++i) {
    if (w.values.contains(kernel.dim_value(i))) continue;
    const Op* defines = DefiningRequirement(kernel, kernel.dims[i]);
    if (!defines) {
      w.failure = NotInC{kernel.loc, std::string(kernel.base_name()),
                         fmt::format("the size '{}', which no tensor has", kernel.dims[i].text())};
      return;
    }
    w.Define(kernel.dim_value(i), SizeText(w, defines->attr<ir::AttrKey::Right>()));
  }
  for (size_t p = 0, given = 0; p < kernel.params.size(); ++p) {
    const ir::Value* value = kernel.params[p].value;
    if (value->type()->kind == ir::TypeKind::Workspace) continue;
    const std::string& name = face.call->params[given++].name;
    w.taken.insert(name);
    if (value->type()->kind == ir::TypeKind::Tensor) {
      w.memories[value] = {name, Strides(w, value->type())};
    } else {
      bool is_bool = value->type()->scalar == Scalar::Bool;
      w.values[value] = {is_bool ? fmt::format("({} != 0)", name) : name, 0};
    }
  }
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

/// Returns the function that runs one core, and sets the bytes of scratch memory that it needs.
std::string InnerFunction(const KernelFace& face, Helpers& helpers,
                          std::span<const ir::MatrixInstruction* const> instructions,
                          int64_t& scratch_bytes, std::optional<NotInC>& failure) {
  Writer w{*face.lowered, helpers, instructions};
  BindParameters(w, face);
  if (!w.failure) BindLaunchTensors(w);
  if (!w.failure) WriteRegion(w, face.lowered->body);
  scratch_bytes = w.scratch_bytes;
  failure = w.failure;
  std::vector<std::string> items = {"int64_t kdl_core", "int64_t kdl_cores", "char* kdl_scratch",
                                    "void* const* kdl_shared"};
  for (std::string& item : Parameters(*face.call)) items.push_back(std::move(item));
  codegen::Writer head;
  head.List(fmt::format("static const char* {}(", face.inner()), items, ") {");
  return head.Take() + "  (void)kdl_core, (void)kdl_cores, (void)kdl_scratch, (void)kdl_shared;\n" +
         w.text + "  return 0;\n}\n";
}

std::string CompareText(ir::CompareKind compare) {
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

void DefineSizes(Helpers& helpers) {
  helpers.Define(
      "kdl_size",
      "// Arithmetic on sizes. Overflow, a division by 0, and arithmetic on KDL_NO_SIZE give "
      "KDL_NO_SIZE.\n"
      "#define KDL_NO_SIZE INT64_MIN\n"
      "static inline int64_t kdl_size_add(int64_t a, int64_t b) {\n"
      "  if (a == KDL_NO_SIZE || b == KDL_NO_SIZE) return KDL_NO_SIZE;\n"
      "  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return KDL_NO_SIZE;\n"
      "  return a + b;\n"
      "}\n"
      "static inline int64_t kdl_size_sub(int64_t a, int64_t b) {\n"
      "  return b == KDL_NO_SIZE ? KDL_NO_SIZE : kdl_size_add(a, -b);\n"
      "}\n"
      "static inline int64_t kdl_size_mul(int64_t a, int64_t b) {\n"
      "  if (a == KDL_NO_SIZE || b == KDL_NO_SIZE) return KDL_NO_SIZE;\n"
      "  if (a == 0 || b == 0) return 0;\n"
      "  const int64_t x = a < 0 ? -a : a, y = b < 0 ? -b : b;\n"
      "  return x > INT64_MAX / y ? KDL_NO_SIZE : a * b;\n"
      "}\n"
      "static inline int64_t kdl_size_div(int64_t a, int64_t b) {\n"
      "  if (a == KDL_NO_SIZE || b == KDL_NO_SIZE || b == 0) return KDL_NO_SIZE;\n"
      "  return a / b - (a % b != 0 && (a < 0) != (b < 0));\n"
      "}\n"
      "static inline int64_t kdl_size_mod(int64_t a, int64_t b) {\n"
      "  if (a == KDL_NO_SIZE || b == KDL_NO_SIZE || b == 0) return KDL_NO_SIZE;\n"
      "  return a - b * kdl_size_div(a, b);\n"
      "}\n"
      "static inline int64_t kdl_size_min(int64_t a, int64_t b) { return a < b ? a : b; }\n");
}

/// Like SizeText, but overflow, a division by 0 and arithmetic on such a result give a negative number.
std::string CheckedSize(Writer& w, Size size) {
  if (size->kind == SizeKind::Constant || size->kind == SizeKind::Symbol) return SizeText(w, size);
  DefineSizes(w.helpers);
  static constexpr std::string_view kNames[] = {"", "", "add", "sub", "mul", "div", "mod", "min"};
  return fmt::format("kdl_size_{}({}, {})", kNames[static_cast<size_t>(size->kind)],
                     CheckedSize(w, size->lhs), CheckedSize(w, size->rhs));
}

/// Writes the checks before a kernel runs: sizes, requirements, null pointers and overlaps.
void WriteChecks(Writer& w, const KernelFace& face) {
  const ir::Function& kernel = *face.lowered;
  std::string name(kernel.base_name());
  auto refuse = [&](std::string_view unless, std::string_view what) {
    w.Line("if (!({})) return {};", unless, Literal(fmt::format("{}: {}", name, what)));
  };
  for (const FaceConstant& size : face.call->sizes)
    refuse(size.name + " >= 0", fmt::format("the size {} is negative", size.source_name));
  for (const Op* op : *kernel.body) {
    if (op->kind() != OpKind::Require) continue;
    std::string left = CheckedSize(w, op->attr<ir::AttrKey::Left>());
    std::string right = CheckedSize(w, op->attr<ir::AttrKey::Right>());
    refuse(fmt::format("{} {} {}", left, CompareText(op->attr<ir::AttrKey::Compare>()), right),
           fmt::format("'{}' does not hold", op->attr<ir::AttrKey::Text>().text()));
  }
  std::vector<std::pair<std::string, bool>> tensors;  // each with whether it is written
  for (const FaceParam& param : face.call->params) {
    if (!param.is_tensor) continue;
    ir::Type type = param.param->value->type();
    std::string bytes = fmt::format("{}", Bytes(type->scalar));
    for (Size dim : type->dims) {
      if (dim->kind != SizeKind::Constant && dim->kind != SizeKind::Symbol)
        refuse(CheckedSize(w, dim) + " >= 0",
               fmt::format("a size of {} is negative or too large", param.name));
    }
    for (Size dim : type->dims) {
      w.helpers.Define(
          "kdl_bytes",
          "// The bytes of a tensor with one more dimension, or -1 if there are too many.\n"
          "static inline int64_t kdl_bytes(int64_t bytes, int64_t size) {\n"
          "  return bytes < 0 || (size != 0 && bytes > INT64_MAX / size) ? -1 : bytes * size;\n"
          "}\n");
      bytes = fmt::format("kdl_bytes({}, {})", bytes, SizeText(w, dim));
    }
    w.Line("const int64_t {}_bytes = {};", param.name, bytes);
    refuse(param.name + "_bytes >= 0", fmt::format("'{}' is too large", param.name));
    refuse(fmt::format("{0} || {0}_bytes == 0", param.name),
           fmt::format("'{}' is NULL", param.name));
    tensors.emplace_back(param.name, param.param->direction != ir::Direction::In);
  }
  for (size_t a = 0; a < tensors.size(); ++a) {
    for (size_t b = a + 1; b < tensors.size(); ++b) {
      if (!tensors[a].second && !tensors[b].second) continue;
      w.helpers.Define("kdl_apart",
                       "static inline int kdl_apart(const void* a, int64_t a_bytes, const void* b, "
                       "int64_t b_bytes) {\n"
                       "  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;\n"
                       "  return x + (uintptr_t)a_bytes <= y || y + (uintptr_t)b_bytes <= x;\n"
                       "}\n");
      refuse(fmt::format("kdl_apart({0}, {0}_bytes, {1}, {1}_bytes)", tensors[a].first,
                         tensors[b].first),
             fmt::format("'{}' and '{}' share memory", tensors[a].first, tensors[b].first));
    }
  }
}

void WriteDoc(codegen::Writer& writer, const FaceCall& call) {
  writer.Doc("///", call.doc);
  for (const FaceParam& param : call.params)
    writer.Line(fmt::format("///   {}: {}", param.name, param.declared));
}

/// The struct with the arguments of a parallel call, and the function that the hook calls for each core.
std::string ParallelText(const KernelFace& face, int64_t scratch_bytes) {
  const FaceCall& call = *face.call;
  std::string fields;
  std::string arguments;
  for (const std::string& item : Parameters(call)) fields += fmt::format("  {};\n", item);
  for (const std::string& item : Arguments(call)) arguments += ", kdl_call->" + item;
  return fmt::format(
      "struct {0}_call {{\n"
      "  int64_t kdl_cores;\n"
      "  char* kdl_scratch;\n"
      "  const char* volatile kdl_error;\n"
      "{1}}};\n"
      "static void {0}_core(void* context, int64_t core) {{\n"
      "  struct {0}_call* const kdl_call = (struct {0}_call*)context;\n"
      "  const char* const error = {2}(core, kdl_call->kdl_cores, kdl_call->kdl_scratch + core * "
      "{3}, 0{4});\n"
      "  if (error) kdl_call->kdl_error = error;\n"
      "}}\n",
      call.c_name, fields, face.inner(), scratch_bytes, arguments);
}

/// Allocates the tensors that all cores share.
void WriteShared(Writer& w, std::vector<std::string>& names) {
  ir::Walk(w.kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::LaunchTensor) return;
    ir::Type type = op->result()->type();
    std::string bytes = fmt::format("{}", Bytes(type->scalar));
    DefineSizes(w.helpers);
    for (Size dim : type->dims)
      bytes = fmt::format("kdl_size_mul({}, {})", bytes, CheckedSize(w, dim));
    std::string name = w.NewName(op->result());
    w.Line("const int64_t {}_bytes = {};", name, bytes);
    names.push_back(name);
  });
}

/// The public function: checks, memory, and the call of the inner function on one core or on all.
std::string OuterFunction(const KernelFace& face, const std::string& prefix, Helpers& helpers,
                          int64_t scratch_bytes, std::string& before) {
  const FaceCall& call = *face.call;
  Writer w{*face.lowered, helpers, {}};
  BindParameters(w, face);
  WriteChecks(w, face);
  std::string arguments;
  for (const std::string& item : Arguments(call)) arguments += ", " + item;
  bool parallel = IsParallel(*face.lowered);
  std::vector<std::string> shared;
  if (parallel) {
    before = ParallelText(face, scratch_bytes);
    w.Line("const int64_t kdl_cores = {0}parallel_for && {0}cores > 1 ? {0}cores : 1;", prefix);
  } else {
    w.Line("const int64_t kdl_cores = 1;");
    WriteShared(w, shared);
  }
  std::string pointers;
  w.Line("const char* kdl_error = 0;");
  if (scratch_bytes > 0) {
    w.Line("char* const kdl_memory = (char*)malloc((size_t)(kdl_cores * {} + 64));", scratch_bytes);
    w.Line("if (!kdl_memory) return \"{}: out of memory\";", face.lowered->base_name());
    w.Line("char* const kdl_scratch = kdl_memory + (64 - (uintptr_t)kdl_memory % 64);");
  } else {
    w.Line("char* const kdl_scratch = 0;");
  }
  if (parallel) {
    w.Line("if (kdl_cores > 1) {{");
    w.Line("  struct {}_call kdl_call = {{kdl_cores, kdl_scratch, 0{}}};", call.c_name, arguments);
    w.Line("  {}parallel_for(kdl_cores, {}_core, &kdl_call);", prefix, call.c_name);
    w.Line("  kdl_error = kdl_call.kdl_error;");
    w.Line("}} else {{");
    w.Line("  kdl_error = {}(0, 1, kdl_scratch, 0{});", face.inner(), arguments);
    w.Line("}}");
  } else {
    w.Line("void* kdl_shared[{}] = {{0}};", std::max<size_t>(shared.size(), 1));
    for (size_t i = 0; i < shared.size(); ++i) {
      w.Line("kdl_shared[{}] = {}_bytes >= 0 ? malloc((size_t){}_bytes + 1) : 0;", i, shared[i],
             shared[i]);
      w.Line("if (!kdl_shared[{}]) kdl_error = \"{}: out of memory\";", i,
             face.lowered->base_name());
    }
    w.Line("if (!kdl_error) kdl_error = {}(0, 1, kdl_scratch, kdl_shared{});", face.inner(),
           arguments);
    for (size_t i = 0; i < shared.size(); ++i) w.Line("free(kdl_shared[{}]);", i);
  }
  if (scratch_bytes > 0) w.Line("free(kdl_memory);");
  w.Line("return kdl_error;");
  codegen::Writer head;
  WriteDoc(head, call);
  head.List(fmt::format("const char* {}(", call.c_name), Parameters(call), ") {");
  return head.Take() + w.text + "}\n";
}

constexpr std::string_view kFileComment =
    R"(//
// Compile with {}.
// Results are the same bits as those of the compiled objects of kernelc, in the default floating-point environment.
)";

constexpr std::string_view kHookComment =
    R"(/// If set, a kernel calls this function once: it must call `body(context, core)` for each core from 0 to count - 1, in any
/// order, also at the same time, and return when all calls have returned. Kernels use as many cores as the second variable
/// says. Kernels with barriers or atomic updates run on the calling thread.
)";

/// Returns flags for gcc and clang with which vectors of the target are vectors of the processor.
std::string Flags(std::string_view spec) {
  constexpr std::string_view kKey = "isa=";
  size_t at = spec.find(kKey);
  std::string_view isa = at == std::string_view::npos ? "" : spec.substr(at + kKey.size());
  constexpr std::string_view kLevel = "x86-64-v";
  isa =
      isa.substr(0, isa.starts_with(kLevel) ? kLevel.size() + 1 : isa.find('-', isa.find('-') + 1));
  return isa.empty() ? "-O3 -ffp-contract=off"
                     : fmt::format("-O3 -march={} -ffp-contract=off", isa);
}

std::string HeaderText(const ModuleFace& face) {
  codegen::Writer writer;
  writer.Line(fmt::format("// The kernels of {}.kdl in C11 and C++. Generated by kernelc.",
                          face.module_name));
  writer.Line("#pragma once");
  writer.Line();
  writer.Line("#include <stdint.h>");
  writer.Line();
  writer.Line("#ifdef __cplusplus");
  writer.Line("extern \"C\" {");
  writer.Line("#endif");
  writer.Line();
  writer.Line(
      "// Each function returns NULL, or a text that says what is wrong. Sizes count elements. "
      "Tensors are row-major");
  writer.Line(
      "// without gaps, aligned to the size of their elements. A written tensor must not overlap "
      "another parameter.");
  for (const FaceCall& call : face.calls.calls) {
    writer.Line();
    WriteDoc(writer, call);
    writer.List(fmt::format("const char* {}(", call.c_name), Parameters(call), ");");
  }
  writer.Line();
  std::string text = writer.Take();
  text += kHookComment;
  text += fmt::format(
      "extern void (*{0}parallel_for)(int64_t count, void (*body)(void* context, int64_t core), "
      "void* context);\n"
      "extern int64_t {0}cores;\n\n"
      "#ifdef __cplusplus\n}}\n#endif\n",
      face.c_prefix);
  return text;
}

}  // namespace

}  // namespace c_source

CSourceResult WriteCSource(const ir::Module& module, const std::string& runtime_name,
                           const ir::Module& lowered, std::string_view spec) {
  using namespace c_source;
  ModuleFace face = MakeFace(module, runtime_name);
  Helpers helpers;
  std::string functions;
  CSourceResult result;
  size_t number = 0;
  for (const FaceFunction& kernel : face.kernels) {
    for (const ir::Function* instance : kernel.functions) {
      const FaceCall& call = face.calls.calls[number++];
      const ir::Function* function = lowered.FindFunction(instance->name);
      KDL_CHECK(function, "kernel '{}' has not been lowered", instance->name.text());
      KernelFace one{&call, function};
      int64_t scratch_bytes = 0;
      std::string inner = InnerFunction(one, helpers, lowered.context().instructions, scratch_bytes,
                                        result.failure);
      if (result.failure) return result;
      std::string before;
      std::string outer = OuterFunction(one, face.c_prefix, helpers, scratch_bytes, before);
      functions += fmt::format("\n{}{}{}\n{}", inner, before.empty() ? "" : "\n", before, outer);
    }
  }
  result.source.header = HeaderText(face);
  result.source.source = fmt::format(
      "// The kernels of {0}.kdl in C11, for {1}. Generated by kernelc.\n{2}"
      "#include \"{0}.source.h\"\n\n"
      "#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n\n"
      "#ifdef __GNUC__\n"
      "#define KDL_PREFETCH(p) __builtin_prefetch((const void*)(p))\n"
      "#pragma GCC diagnostic ignored \"-Wpsabi\"  // all functions with vectors are static\n"
      "#pragma GCC diagnostic ignored \"-Wunused-function\"\n"
      "#pragma GCC diagnostic ignored \"-Wunused-parameter\"\n"
      "#pragma GCC diagnostic ignored \"-Wunused-variable\"\n"
      "#else\n#define KDL_PREFETCH(p)\n#endif\n\n"
      "void (*{3}parallel_for)(int64_t count, void (*body)(void* context, int64_t core), void* "
      "context) = 0;\n"
      "int64_t {3}cores = 1;\n\n{4}{5}",
      face.module_name, spec, fmt::format(fmt::runtime(kFileComment), Flags(spec)), face.c_prefix,
      helpers.text(), functions);
  return result;
}

}  // namespace kdl::codegen
