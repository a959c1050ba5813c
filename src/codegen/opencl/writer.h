#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "codegen/common/compiled.h"
#include "codegen/common/workgroup.h"
#include "ir/module.h"
#include "ir/op.h"
#include "ir/op_info.h"

namespace kdl::codegen::opencl {

/// A tensor or a buffer of the kernel.
struct Memory {
  std::string base;                  ///< a pointer expression
  std::vector<std::string> strides;  ///< in elements; an empty string means 1
};

struct Writer;

/// The parts of the generated text that differ between machines. The rest is the same for all: where plain C
/// is needed, a prelude defines what C lacks.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// Returns the kernel function around the body that was written.
  virtual std::string Kernel(const Writer& w) const = 0;
  /// Declares a buffer in workgroup memory.
  virtual void WriteWorkgroupMemory(Writer& w, const std::string& name, ir::Type buffer) = 0;
  /// These three functions let threads learn that one of them has stopped. They write declarations at the
  /// start of the kernel, return the statement of the thread that stops, and write a barrier after which all
  /// threads know.
  virtual void WriteStops(Writer&) {}
  virtual std::string_view stop() const { return ""; }
  virtual void WriteBarrier(Writer& w) = 0;
  /// Writes block copies, on machines that have them.
  virtual void WriteBlockCopy(Writer& w, const ir::Op* op);
  /// Returns whether `#line` directives tell the compiler where each line comes from.
  virtual bool names_lines() const { return false; }
};

/// Returns `#line 3 "name.kdl"` as a line of C, or nothing if the source line is unknown.
std::string LineDirective(const ir::Loc& loc);

/// The state while one kernel is written; the functions below do the work.
struct Writer {
  const ir::Function& kernel;
  KernelCode& code;
  WorkgroupLayout places;
  Dialect& dialect;
  std::string text = {};
  int depth = 1;
  std::unordered_map<const ir::Value*, std::string> values = {};
  std::unordered_map<const ir::Value*, Memory> memories = {};
  std::unordered_set<std::string> taken = {};
  bool syncs = false;         ///< the kernel is called once for each part between launch barriers
  bool traps = false;         ///< an op may stop a thread, which then accesses no memory
  bool tells = false;         ///< all threads learn of a stop at the next barrier
  bool in_workgroup = false;  ///< in a workgroup loop, where threads diverge
  ir::Loc loc = {};           ///< position of the op that is being written

  /// Writes a line at the current depth.
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    if (dialect.names_lines()) text += LineDirective(loc);
    text.append(static_cast<size_t>(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  }
  std::string_view Get(const ir::Value* value) const;
  /// Returns a unique name, derived from the value's name.
  std::string NewName(const ir::Value* value);
  /// Writes `const float x = EXPRESSION;` and names the value `x`.
  void Define(const ir::Value* value, std::string_view expression);
  /// Reserves memory in scratch for a value that each thread keeps from one call to the next.
  std::string KeptPlace(Scalar scalar);
  /// Returns the variable that says whether the thread continues. Outside of workgroup loops, it is the same
  /// for all threads.
  std::string_view live() const { return in_workgroup ? "ok" : "going"; }
};

/// Returns the type of a scalar in a register: int for bool, and the bits of floats below f32. In memory,
/// bool is uchar.
std::string_view RegisterType(Scalar scalar);
/// Returns the type of a scalar, or of a vector: `float4`.
std::string RegisterType(ir::Type type);
std::string_view MemoryType(Scalar scalar);
/// Returns the suffix of the prelude's functions for this type: `f32`.
std::string_view Suffix(Scalar scalar);

/// Returns the text of a kernel with its tables. Buffers of the workgroup are placed in workgroup memory up
/// to `workgroup_bytes`.
std::string WriteKernel(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes,
                        Dialect& dialect);
void WriteRegion(Writer& w, const ir::Region* region);

/// Writes an op of loop level. Each op has a specialization in the file of its group; without one, linking
/// fails.
template <ir::OpKind>
void Write(Writer& w, const ir::Op* op);
#define KDL_OP_SHAPE(kind, ...) \
  template <>                   \
  void Write<ir::OpKind::kind>(Writer & w, const ir::Op* op);
#include "ir/op_shapes.def"
#undef KDL_OP_SHAPE
#define KDL_WRITE(kind, function)                              \
  template <>                                                  \
  void Write<ir::OpKind::kind>(Writer & w, const ir::Op* op) { \
    (function)(w, op);                                         \
  }

/// Writes ops that compute one expression, which depends on the operands' type.
void WriteExpression(Writer& w, const ir::Op* op);
constexpr bool HasExpression(const ir::OpInfo& info) {
  return info.is_computed() && info.is_in(ir::kLoops) && info.kind != ir::OpKind::Select &&
         info.kind != ir::OpKind::Cast && info.kind != ir::OpKind::ToBits &&
         info.kind != ir::OpKind::FromBits;
}
/// Writes nothing, for ops that are hints, or whose work is done by the host or once for the whole kernel.
inline void WriteNothing(Writer&, const ir::Op*) {}

/// Return the expression for an element of a tensor that an access op refers to, or for an element of a
/// buffer.
std::string TensorElement(const Writer& w, const ir::Op* op, const ir::Value* tensor,
                          std::span<ir::Value* const> index);
std::string BufferElement(const Writer& w, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// Returns `if (ok) ` if only threads that have not stopped may continue, else an empty string.
std::string Guard(const Writer& w);
/// Returns the expression for a size, using the kernel's dimensions.
std::string SizeText(const Writer& w, Size size);
/// Stops the thread unless `ok` is true. Outside of workgroup loops this stops all threads.
void TrapUnless(Writer& w, const std::string& ok, const ir::Op* op, int32_t trap,
                std::string_view index, std::string_view bound);
/// Returns the definitions with which every generated text begins.
std::string_view Prelude();

}  // namespace kdl::codegen::opencl
