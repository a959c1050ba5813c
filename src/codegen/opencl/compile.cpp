#include "codegen/opencl/compile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "codegen/common/size_operation.h"
#include "codegen/opencl/writer.h"
#include "ir/eval/eval.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "kdl/kernel_abi.h"
#include "kdl/workgroup_abi.h"
#include "support/check.h"
#include "support/contains.h"

namespace kdl::codegen::opencl {

namespace {

using ir::Op;
using ir::OpKind;

constexpr int64_t kAlignment = 64;

/// Returns whether an op of the kernel may stop a thread.
bool HasTraps(const ir::Function& kernel) {
  bool may = false;
  ir::Walk(kernel.body, [&](const Op* op) { may |= codegen::MayTrap(op); });
  return may;
}

/// Returns row-major strides. All extents must be constants.
std::vector<std::string> StrideTexts(ir::Type buffer) {
  std::vector<std::string> strides(buffer->dims.size());
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    if (stride != 1) strides[d] = fmt::format("{}", stride);
    stride *= buffer->dims[d]->value;
  }
  return strides;
}

/// Returns the name of the variable for a stride. The name is unique, because all other names that derive
/// from the source end in `_` and a number.
std::string StrideName(std::string_view tensor, size_t dimension) {
  return fmt::format("{}_s{}", tensor, dimension);
}

/// Defines C variables for the kernel's parameters.
void WriteParams(Writer& w) {
  size_t at = kdl_workgroup_header;
  for (size_t i = 0; i < w.kernel.dims.size(); ++i, ++at)
    w.Define(w.kernel.dim_value(i), fmt::format("kdl_launch[{}]", at));
  for (const ir::Param& param : w.kernel.params) {
    ir::Type type = param.value->type();
    if (type->kind == ir::TypeKind::Workspace) continue;  // unused, since pipes are buffers by now
    if (type->kind == ir::TypeKind::Tensor) {
      std::string name = w.NewName(param.value);
      std::string_view element = MemoryType(type->scalar);
      bool is_in = param.direction == ir::Direction::In;
      w.Line("__global {0}{1}* const {2} = (__global {0}{1}*)kdl_{2} + kdl_launch[{3}];",
             is_in ? "const " : "", element, name, at);
      Memory memory{name, {}};
      for (size_t d = 0; d + 1 < type->dims.size(); ++d) {
        memory.strides.push_back(StrideName(name, d));
        w.Line("const long {} = kdl_launch[{}];", memory.strides.back(), at + 1 + d);
      }
      if (!type->dims.empty()) memory.strides.emplace_back();
      w.memories[param.value] = std::move(memory);
      at += kdl_workgroup_tensor;
    } else {
      Scalar scalar = type->scalar;
      std::string bits = fmt::format("kdl_launch[{}]", at++);
      if (scalar == Scalar::F32) bits = fmt::format("as_float((int){})", bits);
      if (scalar == Scalar::F64) bits = fmt::format("as_double({})", bits);
      if (scalar == Scalar::Bool) bits = fmt::format("(uchar){} != 0", bits);
      if (IsInteger(scalar) || IsNarrowFloat(scalar))
        bits = fmt::format("({}){}", RegisterType(scalar), bits);
      w.Define(param.value, bits);
    }
  }
}

/// Declares the tensors that the launch allocates for all its cores. The layout must be the same as the one
/// that `shared_bytes` assumes (launch_tensors.cpp).
void WriteLaunchTensors(Writer& w) {
  std::string place = "(kdl_shared + kdl_launch[3])";
  ir::Walk(w.kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::LaunchTensor) return;
    ir::Type type = op->result()->type();
    std::string name = w.NewName(op->result());
    std::string_view element = MemoryType(type->scalar);
    Memory memory{name, std::vector<std::string>(type->dims.size())};
    std::string count;
    for (size_t d = type->dims.size(); d-- > 0;) {
      memory.strides[d] = count;
      std::string size = SizeText(w, type->dims[d]);
      count = count.empty() ? size : fmt::format("{} * {}", size, count);
      if (d > 0) {
        std::string stride = StrideName(name, d - 1);
        w.Line("const long {} = {};", stride, count);
        count = std::move(stride);
      }
    }
    w.Line("__global {0}* const {1} = (__global {0}*)({2});", element, name, place);
    w.Line("__global uchar* const {}_end = {} + (({}) * {} + {}) / {} * {};", name, place,
           count.empty() ? "1" : count, Bytes(type->scalar), kAlignment - 1, kAlignment,
           kAlignment);
    place = name + "_end";
    w.memories[op->result()] = std::move(memory);
  });
}

/// Returns the innermost workgroup loop that contains the op, or null.
const Op* WorkgroupLoopAround(const Op* op) {
  const Op* around = op->parent_region()->parent();
  while (around && !around->HasAttr(ir::AttrKey::Threads))
    around = around->parent_region()->parent();
  return around;
}

/// Returns the private buffers whose contents may differ between threads, because iterations of a workgroup
/// loop write them. A buffer that each iteration creates anew is not one of them, because no other iteration
/// reads what is in it.
std::unordered_set<const ir::Value*> DifferingBuffers(const ir::Function& kernel) {
  std::unordered_set<const ir::Value*> differing;
  ir::Walk(kernel.body, [&](const Op* op) {
    for (size_t s = 0; s < op->info().operands.size(); ++s) {
      if (op->info().operands[s].effect == ir::Effect::Read) continue;
      for (const ir::Value* operand : op->Segment(s)) {
        bool is_private = operand->type()->kind == ir::TypeKind::Buffer &&
                          operand->type()->space != ir::Space::Workgroup && operand->def();
        if (!is_private) continue;
        const Op* loop = WorkgroupLoopAround(op);
        if (loop && loop != WorkgroupLoopAround(operand->def())) differing.insert(operand);
      }
    }
  });
  return differing;
}

/// Allocates a buffer and writes its declaration.
void WriteBuffer(Writer& w, const ir::Value* buffer) {
  ir::Type type = buffer->type();
  std::string name = w.NewName(buffer);
  std::string_view element = MemoryType(type->scalar);
  std::vector<std::string> strides = StrideTexts(type);
  WorkgroupPlace place = w.places.PlaceBuffer(buffer);
  std::string base = name;
  switch (place.space) {
    case WorkgroupPlace::Space::Own: {
      int64_t count = SizeInBytes(type) / Bytes(type->scalar);
      bool differs = w.differing.contains(buffer);
      differs ? w.Line("{} {}[KDL_COPIES({})];", element, name, count)
              : w.Line("{} {}[{}];", element, name, count);
      if (differs) base = fmt::format("({} + KDL_COPY({}))", name, count);
      break;
    }
    case WorkgroupPlace::Space::Workgroup:
      w.dialect.WriteWorkgroupMemory(w, name, type);
      break;
    case WorkgroupPlace::Space::GlobalOwn:
      base =
          fmt::format("({} + {})", name, w.differing.contains(buffer) ? "kdl_thread" : "kdl_own");
      for (std::string& stride : strides)
        stride = stride.empty() ? "KDL_WORKERS" : fmt::format("{} * KDL_WORKERS", stride);
      [[fallthrough]];
    case WorkgroupPlace::Space::Global:
      w.Line("__global {0}* const {1} = (__global {0}*)(kdl_scratch + {2});", element, name,
             place.offset);
      break;
  }
  w.memories[buffer] = {std::move(base), std::move(strides)};
}

/// Allocates all buffers, in source order, and writes their declarations.
void WriteBuffers(Writer& w) {
  ir::Walk(w.kernel.body, [&](const Op* op) {
    if (op->kind() == OpKind::BufferNew) WriteBuffer(w, op->result());
  });
}

/// Returns a constant initializer for a float that may be infinite or NaN. Not every compiler accepts calls
/// to OpenCL C functions in constant initializers.
std::string FloatText(double value, std::string_view suffix) {
  if (std::isfinite(value)) return fmt::format("{:a}{}", value, suffix);
  std::string_view part = std::isnan(value) ? "0.0" : value > 0 ? "1.0" : "-1.0";
  return fmt::format("{0}{1} / 0.0{1}", part, suffix);
}

std::string LongText(int64_t value) {
  if (value == INT64_MIN) return "LONG_MIN";
  return value < 0 ? fmt::format("({}l)", value) : fmt::format("{}l", value);
}

/// Returns the text for an element of a table.
std::string ElementText(Scalar scalar, uint64_t bits) {
  if (scalar == Scalar::F32)
    return FloatText(std::bit_cast<float>(static_cast<uint32_t>(bits)), "f");
  if (scalar == Scalar::F64) return FloatText(std::bit_cast<double>(bits), "");
  if (!IsInteger(scalar) || !IsSigned(scalar)) return fmt::format("{}ul", bits);
  return LongText(ir::Extended(scalar, bits));
}

/// Writes the kernel's tables, which are in constant memory.
void WriteTables(Writer& w, std::string& file) {
  ir::Walk(w.kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::Table) return;
    ir::Type type = op->result()->type();
    // The name is unique, because other names in the text end in a number.
    std::string name = fmt::format("{}_{}_table", w.code.entry, w.NewName(op->result()));
    std::string elements;
    for (uint64_t bits : op->attr<ir::AttrKey::Elements>()) {
      elements += (elements.empty() ? "" : ", ") + ElementText(type->scalar, bits);
    }
    std::string table =
        fmt::format("__constant {} {}[] = {{{}}};\n", MemoryType(type->scalar), name, elements);
    file +=
        type->scalar == Scalar::F64 ? fmt::format("#ifdef cl_khr_fp64\n{}#endif\n", table) : table;
    w.memories[op->result()] = {name, StrideTexts(type)};
  });
}

class OpenClDialect final : public Dialect {
 public:
  explicit OpenClDialect(bool names_lines) : names_lines_(names_lines) {}

  bool names_lines() const override { return names_lines_; }

  void WriteWorkgroupMemory(Writer& w, const std::string& name, ir::Type buffer) override {
    w.Line("__local {} {}[{}];", MemoryType(buffer->scalar), name,
           std::max<int64_t>(ir::WorkgroupBytes(buffer) / Bytes(buffer->scalar), 1));
  }

  void WriteStops(Writer& w) override {
    if (!w.tells) return;
    constexpr int64_t kStops = 2;  // one flag for the next barrier, one for the barrier after that
    w.places.ReserveWorkgroupMemory(kStops * static_cast<int64_t>(sizeof(int32_t)));
    w.Line("__local volatile int kdl_stopped[{}];", kStops);
    w.Line("int kdl_interval = 0;");
    w.Line("KDL_THREADS_BELOW({}) kdl_stopped[kdl_thread] = 0;", kStops);
    w.Line("KDL_BARRIER;");
  }
  std::string_view stop() const override { return " kdl_stopped[kdl_interval & 1] = 1;"; }
  void WriteBarrier(Writer& w) override {
    w.Line("KDL_BARRIER;");
    if (w.tells) w.Line("if (kdl_stopped[kdl_interval++ & 1]) ok = going = 0;");
  }

  std::string Kernel(const Writer& w) const override { return Guarded(w, Text(w)); }

 private:
  /// Omits the kernel on devices that lack an extension which the kernel uses. Drivers reject all kernels of
  /// a source if one does not compile. The runtime reports missing kernels (opencl_programs).
  static std::string Guarded(const Writer& w, std::string text) {
    bool wide = HasOp(w.kernel, OpKind::Print);
    bool of_bits = false;  // whether some update needs the extended atomics
    ir::Walk(w.kernel.body, [&](const Op* op) {
      if (op->kind() != OpKind::Update) return;
      Scalar scalar = ir::UpdateOp(const_cast<Op*>(op)).value()->type()->scalar;
      if (Bytes(scalar) < 8) return;
      wide = true;
      auto how = op->attr<ir::AttrKey::How>();
      bool is_base = how == ir::UpdateKind::Set || how == ir::UpdateKind::Add ||
                     how == ir::UpdateKind::Mul;  // Mul is a compare-and-swap loop
      of_bits |= IsInteger(scalar) && !is_base;
    });
    struct Row {
      std::string_view extension;
      bool is_used;
    };
    // Integers of 32 and 64 bits are converted to narrow floats through f64.
    const Row rows[] = {
        {"cl_khr_fp64", HasF64(w.kernel) || w.text.find("kdl_odd_") != std::string::npos},
        {"cl_khr_int64_base_atomics", wide},
        {"cl_khr_int64_extended_atomics", of_bits}};
    for (const Row& row : rows)
      if (row.is_used) text = fmt::format("#ifdef {}\n{}#endif\n", row.extension, text);
    return text;
  }

  static bool HasF64(const ir::Function& kernel) {
    auto is_f64 = [](const ir::Value* value) { return value->type()->scalar == Scalar::F64; };
    bool found = std::ranges::any_of(kernel.params,
                                     [&](const ir::Param& param) { return is_f64(param.value); });
    ir::Walk(kernel.body, [&](const Op* op) {
      found |= std::ranges::any_of(op->results(), is_f64);
      for (const ir::Region* region : op->regions())
        found |= std::ranges::any_of(region->params(), is_f64);
    });
    return found;
  }

  static std::string Text(const Writer& w) {
    std::string tensors;
    for (const ir::Param& param : w.kernel.params) {
      if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
      tensors += fmt::format(", __global uchar* kdl_{}", w.memories.at(param.value).base);
    }
    return fmt::format(
        "#undef KDL_WORKERS\n#define KDL_WORKERS {0}l\n"
        "__kernel __attribute__((reqd_work_group_size(KDL_WORKGROUP({0}), 1, 1)))\n"
        "void {1}(__global const long* kdl_launch, __global uchar* kdl_memory, "
        "__global uchar* "
        "kdl_shared, __global long* kdl_record, __global long* kdl_prints{2}) {{\n"
        "  const long kdl_core = get_group_id(0) + kdl_launch[2];\n"
        "  const long kdl_cores = kdl_launch[0];\n"
        "  const long kdl_thread = get_local_id(0);\n"
        "  __global uchar* const kdl_scratch = kdl_memory + {5} * {3};\n{4}}}\n",
        w.kernel.workgroup, w.code.entry, tensors, w.code.scratch_bytes, w.text,
        w.syncs ? "kdl_core" : "get_group_id(0)");
  }

  const bool names_lines_;
};

/// Returns the number of bytes in the kernel's tables.
int64_t TableBytes(const ir::Function& kernel) {
  int64_t bytes = 0;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() != OpKind::Table) return;
    bytes += std::ssize(op->attr<ir::AttrKey::Elements>()) * Bytes(op->result()->type()->scalar);
  });
  return bytes;
}

/// If the tables are too large for some devices, omits the kernel on devices for which the runtime reports
/// too little constant memory. On these devices, an empty kernel with a different name shows why the kernel
/// is missing.
std::string GuardTables(const std::string& entry, int64_t bytes, std::string text) {
  constexpr int64_t kEverywhere = 64 << 10;  // the number of bytes that OpenCL 1.2 guarantees
  if (bytes <= kEverywhere) return text;
  return fmt::format(
      "#if KDL_CONSTANT_BYTES >= {}\n{}#else\n__kernel void {}_large() {{}}\n#endif\n", bytes, text,
      entry);
}

}  // namespace

std::string WriteKernel(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes,
                        Dialect& dialect) {
  std::string tables;
  Writer w{kernel, code, WorkgroupLayout(kernel, code, workgroup_bytes), dialect};
  w.traps = HasTraps(kernel);
  w.tells = w.traps && HasOp(kernel, OpKind::Barrier);
  w.syncs = HasOp(kernel, OpKind::Sync);
  WriteTables(w, tables);
  WriteParams(w);
  WriteLaunchTensors(w);
  w.Line("int ok = 1, going = 1;");
  dialect.WriteStops(w);
  if (w.syncs) w.Line("const long kdl_own = kdl_thread;");
  w.differing = DifferingBuffers(kernel);
  WriteBuffers(w);
  WriteRegion(w, kernel.body);
  if (w.syncs) code.resumable = code.entry;
  return tables + dialect.Kernel(w);
}

std::string_view Writer::Get(const ir::Value* value) const {
  auto found = values.find(value);
  KDL_CHECK(found != values.end(), "no C expression has been written for '{}'",
            value->name().text());
  return found->second;
}

/// Returns whether the name is one of the OpenCL C macros that end in `_` and a number.
static bool IsMacro(std::string_view name) {
  constexpr std::string_view kMacros[] = {"M_PI_2",         "M_PI_4",         "M_SQRT1_2",
                                          "CL_VERSION_1_0", "CL_VERSION_1_1", "CL_VERSION_1_2",
                                          "CL_VERSION_2_0", "CL_VERSION_3_0"};
  return Contains(kMacros, name);
}

std::string LineDirective(const ir::Loc& loc) {
  if (loc.line == 0 || loc.file.text().empty()) return {};
  std::string file;
  for (char c : loc.file.text()) {
    if (c == '"' || c == '\\') file += '\\';
    file += c;
  }
  return fmt::format("#line {} \"{}\"\n", loc.line, file);
}

std::string Writer::NewName(const ir::Value* value) {
  std::string base;
  if (value) {
    for (char c : value->name().text())
      base += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  // The number at the end distinguishes these names from C keywords and from names in the prelude.
  std::string name = base.empty() ? "v" : base + "_";
  for (size_t number = taken.size();; ++number) {
    std::string tried = fmt::format("{}{}", name, number);
    if (!IsMacro(tried) && taken.insert(tried).second) return tried;
  }
}

std::string Writer::KeptPlace(Scalar scalar) {
  return fmt::format("((__global {}*)(kdl_scratch + {}))[kdl_thread]", RegisterType(scalar),
                     places.KeptPlace(scalar));
}

void Writer::Define(const ir::Value* value, std::string_view expression) {
  std::string name = NewName(value);
  Line("const {} {} = {};", RegisterType(value->type()), name, expression);
  values[value] = std::move(name);
}

std::string_view RegisterType(Scalar scalar) {
  if (scalar == Scalar::Bool) return "int";
  return MemoryType(scalar);
}

std::string RegisterType(ir::Type type) {
  std::string_view scalar = RegisterType(type->scalar);
  return ir::IsVector(type) ? fmt::format("{}{}", scalar, ir::Lanes(type)) : std::string(scalar);
}

std::string_view MemoryType(Scalar scalar) {
  if (scalar == Scalar::F32) return "float";
  if (scalar == Scalar::F64) return "double";
  static constexpr std::string_view kSigned[] = {"char", "short", "int", "long"};
  static constexpr std::string_view kUnsigned[] = {"uchar", "ushort", "uint", "ulong"};
  int log = std::countr_zero(static_cast<unsigned>(Bytes(scalar)));
  return IsSigned(scalar) ? kSigned[log] : kUnsigned[log];  // unsigned for bits of narrow floats
}

std::string_view Suffix(Scalar scalar) { return Spelling(scalar); }

std::string SizeText(const Writer& w, Size size) {
  switch (size->kind) {
    case SizeKind::Constant:
      return LongText(size->value);
    case SizeKind::Symbol:
      if (size->symbol.text() == ir::kCoreNum) return "kdl_cores";
      for (size_t i = 0; i < w.kernel.dims.size(); ++i) {
        if (w.kernel.dims[i] == size->symbol) return std::string(w.Get(w.kernel.dim_value(i)));
      }
      KDL_UNREACHABLE("'{}' is not the name of a size", size->symbol.text());
    default:
      break;
  }
  std::string a = SizeText(w, size->lhs);
  std::string b = SizeText(w, size->rhs);
  return SizeOperation(size->kind, a, b, [](std::string_view name) {
    return name == "min" ? std::string(name) : fmt::format("kdl_{}_i64", name);
  });
}

void TrapUnless(Writer& w, const std::string& ok, const Op* op, int32_t trap,
                std::string_view index, std::string_view bound) {
  TrapLocation place = LocationOf(op, trap);
  if (trap == KDL_TRAP_STEP) place.text = op->region()->param(0)->name();
  int64_t location = LocationIndex(w.code, place);
  std::string_view stop = !w.in_workgroup ? "ok = going = 0;" : "ok = 0;";
  std::string_view tell = w.in_workgroup && w.tells ? w.dialect.stop() : "";
  w.Line("if ({} && !({})) {{ {}{} kdl_trap(kdl_record, {}, {}, {}, {}, kdl_core, kdl_thread); }}",
         w.live(), ok, stop, tell, trap, location, index, bound);
}

CompiledModule Compile(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                       const CompileOptions& options) {
  CompiledModule compiled;
  compiled.kind = options.kind;
  compiled.payload = Prelude();
  compiled.packs_payload = true;
  OpenClDialect dialect(options.lines);
  for (const ir::Function* kernel : kernels) {
    KernelCode& code = compiled.kernels.emplace_back();
    code.kernel = kernel;
    code.entry = WorkgroupEntry(*kernel, compiled.kernels.size());
    std::string text = WriteKernel(*kernel, code, workgroup_bytes, dialect);
    compiled.payload += "\n" + GuardTables(code.entry, TableBytes(*kernel), std::move(text));
  }
  return compiled;
}

}  // namespace kdl::codegen::opencl
