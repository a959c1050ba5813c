#include "codegen/cluster/c_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "codegen/opencl/writer.h"
#include "ir/lookup.h"
#include "ir/views.h"
#include "ir/workgroup_memory.h"
#include "support/check.h"

// codegen/opencl writes the bodies of kernels. This file writes what is different on clusters: how a kernel
// is called, where the scratchpad is, and asynchronous copies.

namespace kdl::codegen::cluster {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;
using opencl::Writer;

class CDialect final : public opencl::Dialect {
 public:
  void WriteWorkgroupMemory(Writer& w, const std::string& name, ir::Type buffer) override {
    w.Line("{0}* const {1} = ({0}*)(kdl_at->scratchpad + {2});", opencl::MemoryType(buffer->scalar),
           name, scratchpad_bytes);
    scratchpad_bytes += ir::WorkgroupBytes(buffer);
  }

  /// All threads reach each barrier. At the barrier, each thread reports whether it has trapped.
  void WriteBarrier(Writer& w) override {
    w.tells ? w.Line("if (kdl_at->wait(kdl_at, !ok)) ok = going = 0;")
            : w.Line("kdl_at->wait(kdl_at, 0);");
  }

  void WriteAsyncCopy(Writer& w, const Op* op) override {
    op->kind() == OpKind::AsyncCopy ? WriteCopy(w, op)
                                    : WriteWait(w, ir::AsyncCopyWaitOp(const_cast<Op*>(op)));
  }

  std::string Kernel(const Writer& w) const override {
    std::string tensors;
    int number = kFirstTensor;
    for (const ir::Param& param : w.kernel.params) {
      if (param.value->type()->kind != ir::TypeKind::Tensor) continue;
      tensors += fmt::format("  uchar* const kdl_{} = KDL_AT({});\n",
                             w.memories.at(param.value).base, number++);
    }
    return fmt::format(
        "#undef KDL_WORKERS\n#define KDL_WORKERS {0}l\n{6}"
        "static void {1}(const int64_t* kdl_numbers, const int64_t* kdl_memories, "
        "kdl_cluster_worker* kdl_at) {{\n"
        "  const long* const kdl_launch = (const long*)kdl_numbers;\n"
        "  uchar* const kdl_shared = KDL_AT(1);\n"
        "  long* const kdl_record = (long*)KDL_AT(2);\n"
        "  long* const kdl_prints = (long*)KDL_AT(3);\n"
        "{2}"
        "  const long kdl_core = (long)kdl_at->core + kdl_launch[2];\n"
        "  const long kdl_cores = kdl_launch[0];\n"
        "  const long kdl_thread = (long)kdl_at->worker;\n"
        "  uchar* const kdl_scratch = KDL_AT(0) + {3} * {4};\n{5}}}\n",
        w.kernel.workgroup, w.code.entry, tensors, w.syncs ? "kdl_core" : "(long)kdl_at->core",
        w.code.scratch_bytes, w.text, opencl::LineDirective(w.kernel.loc));
  }

  bool names_lines() const override { return true; }

  int64_t scratchpad_bytes = 0;  ///< scratchpad bytes that the kernel uses

 private:
  // The first tensor comes after the memories that every kernel has: memory, shared, record and prints.
  static constexpr int kFirstTensor = 4;

  static std::string StrideBytes(const Writer& w, const ir::Value* memory, size_t dimension) {
    const std::string& stride = w.memories.at(memory).strides[dimension];
    return fmt::format("{} * {}", stride.empty() ? "1" : stride, Bytes(memory->type()->scalar));
  }

  /// Writes a copy of rows. A row is a run of elements that are contiguous in both memories. If the tensor's
  /// elements are not contiguous, each row is a single element.
  static void WriteCopy(Writer& w, const Op* op) {
    ir::AsyncCopyOp copy(const_cast<Op*>(op));
    const ir::CopyEnds ends = ir::CopyEndsOf(op);
    const std::string global = opencl::TensorElement(w, op, ends.tensor, copy.index());
    const std::string workgroup = opencl::BufferElement(w, ends.buffer, copy.place());
    const std::span<ir::Value* const> sizes = copy.sizes();
    const ir::NumberList along = op->attr<AttrKey::Along>();
    const size_t rank = ends.tensor->type()->dims.size();
    const size_t places = ends.buffer->type()->dims.size();
    const int64_t element = Bytes(ends.buffer->type()->scalar);
    const bool side_by_side = along.back() + 1 == static_cast<int64_t>(rank);
    KDL_CHECK(side_by_side || along.size() == 1,
              "a copy of several rows whose elements are not contiguous");
    const bool one_row = side_by_side && along.size() == 1;
    const std::string row = side_by_side ? fmt::format("{} * {}", w.Get(sizes.back()), element)
                                         : fmt::format("{}", element);
    const std::string workgroup_stride =
        one_row ? "0" : StrideBytes(w, ends.buffer, places - along.size());
    const std::string global_stride =
        one_row ? "0" : StrideBytes(w, ends.tensor, static_cast<size_t>(along.front()));
    w.Line(
        "{}kdl_at->copy(kdl_at, (void*)&{}, (const void*)&{}, (uint64_t)({}), (uint64_t)({}), {}, "
        "{});",
        opencl::Guard(w), ends.in ? workgroup : global, ends.in ? global : workgroup, row,
        one_row ? "1" : w.Get(sizes.front()), ends.in ? workgroup_stride : global_stride,
        ends.in ? global_stride : workgroup_stride);
  }

  static void WriteWait(Writer& w, ir::AsyncCopyWaitOp wait) {
    std::vector<ir::Value*> buffers(wait.buffers().begin(), wait.buffers().end());
    buffers.insert(buffers.end(), wait.sources().begin(), wait.sources().end());
    for (const ir::Value* buffer : buffers) {
      int64_t bytes = SizeInBytes(buffer->type());
      if (wait.slot()) bytes /= buffer->type()->dims[0]->value;
      const std::string at = wait.slot() ? fmt::format("{} * {}", w.Get(wait.slot()), bytes) : "0";
      w.Line("{}kdl_at->await(kdl_at, (const void*)((const uchar*){} + {}), {});", opencl::Guard(w),
             w.memories.at(buffer).base, at, bytes);
    }
  }
};

}  // namespace

CompiledModule CompileC(std::span<const ir::Function* const> kernels, int64_t workgroup_bytes,
                        const CompileOptions& options) {
  CompiledModule compiled;
  compiled.kind = options.kind;
  compiled.payload = CPrelude();
  compiled.payload += opencl::Prelude();
  std::string rows;
  for (const ir::Function* kernel : kernels) {
    KernelCode& code = compiled.kernels.emplace_back();
    code.kernel = kernel;
    code.entry = WorkgroupEntry(*kernel, compiled.kernels.size());
    CDialect dialect;
    compiled.payload += "\n" + opencl::WriteKernel(*kernel, code, workgroup_bytes, dialect);
    fmt::format_to(std::back_inserter(rows), "  {{\"{0}\", {0}, {1}, {2}}},\n", code.entry,
                   kernel->workgroup, dialect.scratchpad_bytes);
  }
  compiled.payload += fmt::format(
      "\nconst kdl_cluster_entry kdl_cluster_entries[] = {{\n{}  {{0, 0, 0, 0}}}};\n", rows);
  return compiled;
}

}  // namespace kdl::codegen::cluster
