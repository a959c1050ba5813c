#include <algorithm>
#include <string>
#include <vector>

#include "codegen/c_source/functions.h"
#include "ir/op_table.h"
#include "kdl/queue.h"

// Writes the public function of a kernel, which runs it on one core or on several.

namespace kdl::codegen::c_source {

namespace {

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

/// Returns the arguments of the public function after those of the core, each with `prefix`.
std::string ArgumentsAfter(const FaceCall& call, std::string_view prefix) {
  std::string text;
  for (const FaceConstant& size : call.sizes) text += fmt::format(", {}{}", prefix, size.name);
  for (const FaceParam& param : call.params)
    if (!param.is_absent) text += fmt::format(", {}{}", prefix, param.name);
  return text;
}

/// The struct with the arguments of a parallel call, and the function that the hook calls for each core.
std::string ParallelText(const KernelFace& face, int64_t scratch_bytes) {
  std::string fields;
  for (const std::string& item : Parameters(*face.call)) fields += fmt::format("  {};\n", item);
  return fmt::format(
      "struct {0} {{\n"
      "  int64_t kdl_cores;\n"
      "  char* kdl_scratch;\n"
      "  const char* volatile kdl_error;\n"
      "  unsigned char* kdl_called;  // for each core, whether the function has been called for "
      "it\n"
      "{1}}};\n"
      "static void {5}(void* context, int64_t core) {{\n"
      "  struct {0}* const call = (struct {0}*)context;\n"
      "  if (core < 0 || core >= call->kdl_cores) return;\n"
      "  char* const scratch = call->kdl_scratch + core * {3};\n"
      "  const char* const error =\n"
      "      {2}(core, call->kdl_cores, scratch, 0{4});\n"
      "  if (error) call->kdl_error = error;\n"
      "  call->kdl_called[core] = 1;\n"
      "}}\n\n",
      face.arguments(), fields, face.on_core(), scratch_bytes, ArgumentsAfter(*face.call, "call->"),
      face.body());
}

void DefineMemory(Helpers& helpers) {
  helpers.Define("kdl_allocate",
                 "// Memory on a cache line, or NULL.\n"
                 "static inline void* kdl_allocate(int64_t bytes, void** start) {\n"
                 "  *start = (uint64_t)bytes > (uint64_t)PTRDIFF_MAX - 64 ? 0 : "
                 "malloc((size_t)bytes + 64);\n"
                 "  return *start ? (char*)*start + (64 - (uintptr_t)*start % 64) : 0;\n"
                 "}\n"
                 "static inline void kdl_release(void* start) { free(start); }\n");
}

/// Functions for the cores that have been called. The outer function calls none of the C library, because a parameter of the kernel may
/// have the name of one.
void DefineCalled(Helpers& helpers) {
  helpers.Define("kdl_none_called",
                 "// A flag for each core, or NULL.\n"
                 "static inline unsigned char* kdl_none_called(int64_t cores) {\n"
                 "  return (uint64_t)cores > PTRDIFF_MAX ? 0 : calloc((size_t)cores, 1);\n"
                 "}\n"
                 "static inline int kdl_all_called(const unsigned char* called, int64_t cores) {\n"
                 "  return !memchr(called, 0, (size_t)cores);\n"
                 "}\n"
                 "static inline void kdl_free_called(unsigned char* called) { free(called); }\n");
}

std::string OutOfMemory(const Writer& w) {
  return Literal(fmt::format("launch of '{}': out of memory", w.kernel.base_name()));
}

/// Allocates the scratch memory of all cores.
void WriteScratch(Writer& w, int64_t bytes) {
  if (bytes == 0) return w.Line("char* const kdl_scratch = 0;");
  DefineMemory(w.helpers);
  w.Line("void* kdl_memory;");
  w.Line(
      "char* const kdl_scratch = kdl_cores > INT64_MAX / {0} ? 0 : "
      "(char*)kdl_allocate(kdl_cores * {0}, &kdl_memory);",
      bytes);
  w.Line("if (!kdl_scratch) return {};", OutOfMemory(w));
}

/// Runs all cores: at once if the caller can, otherwise only one.
void WriteParallelRun(Writer& w, const KernelFace& face) {
  DefineCalled(w.helpers);
  w.Line("if (kdl_cores > 1) {{");
  w.Line("  unsigned char* const kdl_called = kdl_none_called(kdl_cores);");
  w.Line("  struct {} kdl_call = {{kdl_cores, kdl_scratch, 0, kdl_called{}}};", face.arguments(),
         ArgumentsAfter(*face.call, ""));
  w.Line("  if (kdl_called) kdl_run_cores(kdl_cores, {}, &kdl_call);", face.body());
  w.Line("  kdl_error = kdl_called ? kdl_call.kdl_error : {};", OutOfMemory(w));
  w.Line("  if (!kdl_error && !kdl_all_called(kdl_called, kdl_cores))");
  w.Line("    kdl_error = {};",
         Literal(fmt::format("launch of '{}': parallel_for has not called body for every core",
                             w.kernel.base_name())));
  w.Line("  kdl_free_called(kdl_called);");
  w.Line("}} else {{");
  w.Line("  kdl_error = {}(0, 1, kdl_scratch, 0{});", face.on_core(),
         ArgumentsAfter(*face.call, ""));
  w.Line("}}");
}

std::vector<const Op*> LaunchTensors(const ir::Function& kernel) {
  std::vector<const Op*> found;
  ir::Walk(kernel.body, [&](const Op* op) {
    if (op->kind() == OpKind::LaunchTensor) found.push_back(op);
  });
  return found;
}

/// Writes variables with the bytes of the tensors that all cores share, and returns their names.
std::vector<std::string> WriteSharedBytes(Writer& w) {
  std::vector<std::string> names;
  for (const Op* op : LaunchTensors(w.kernel)) {
    names.push_back(fmt::format("kdl_bytes_{}", names.size()));
    WriteBytes(w, names.back(), op->result()->type(), "its workspace");
    w.Line("if ({} < 0) return {};", names.back(),
           Literal(fmt::format("launch of '{}': its workspace would have a negative size or too "
                               "many bytes",
                               w.kernel.base_name())));
  }
  return names;
}

/// Allocates the tensors that all cores share, and runs the only core.
void WriteSharedRun(Writer& w, const KernelFace& face, const std::vector<std::string>& bytes) {
  std::string own = ArgumentsAfter(*face.call, "");
  if (bytes.empty()) return w.Line("kdl_error = {}(0, 1, kdl_scratch, 0{});", face.on_core(), own);
  DefineMemory(w.helpers);
  w.Line("void* kdl_starts[{}] = {{0}};", bytes.size());
  w.Line("void* kdl_shared[{}] = {{0}};", bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    w.Line("kdl_shared[{0}] = kdl_allocate({1}, &kdl_starts[{0}]);", i, bytes[i]);
    w.Line("if (!kdl_shared[{}]) kdl_error = {};", i, OutOfMemory(w));
  }
  w.Line("if (!kdl_error) kdl_error = {}(0, 1, kdl_scratch, kdl_shared{});", face.on_core(), own);
  for (size_t i = 0; i < bytes.size(); ++i) w.Line("kdl_release(kdl_starts[{}]);", i);
}

}  // namespace

void WriteDoc(codegen::Writer& writer, const FaceCall& call) {
  writer.Doc("///", call.doc);
  for (const FaceParam& param : call.params)
    if (!param.is_absent) writer.Line(fmt::format("///   {}: {}", param.name, param.declared));
}

std::string OuterFunction(const KernelFace& face, Helpers& helpers, int64_t scratch_bytes) {
  Writer w{*face.lowered, helpers, {}};
  BindParameters(w, *face.call);
  WriteLaunchChecks(w, *face.call);
  bool parallel = IsParallel(*face.lowered);
  w.Line("const int64_t kdl_cores = {};", parallel ? "kdl_core_count()" : "1");
  if (parallel)
    w.Line("if (kdl_cores > INT64_C({})) return {};", KDL_LARGEST_SIZE,
           Literal(fmt::format("launch of '{}': a launch runs on at most {} cores",
                               w.kernel.base_name(), KDL_LARGEST_SIZE)));
  w.Line("const char* kdl_error = 0;");
  std::vector<std::string> shared = WriteSharedBytes(w);
  WriteScratch(w, scratch_bytes);
  if (parallel) {
    WriteParallelRun(w, face);
  } else {
    WriteSharedRun(w, face, shared);
  }
  if (scratch_bytes > 0) w.Line("kdl_release(kdl_memory);");
  w.Line("return kdl_error;");
  codegen::Writer head;
  WriteDoc(head, *face.call);
  head.List(fmt::format("const char* {}(", face.call->c_name), Parameters(*face.call), ") {");
  return (parallel ? ParallelText(face, scratch_bytes) : "") + head.Take() + w.text + "}\n";
}

}  // namespace kdl::codegen::c_source
