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

/// How generated code accesses a tensor or a buffer of the kernel.
struct Memory {
  std::string base;                  ///< a pointer expression
  std::vector<std::string> strides;  ///< stride expressions, in elements; an empty string means 1
};

struct Writer;

/// The parts of the generated text that differ between machines. The rest is the same for all machines. For
/// plain C, a prelude defines the functions of OpenCL C that C lacks.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// Returns the text of the kernel's function, including the body that has been written.
  virtual std::string Kernel(const Writer& w) const = 0;
  /// Declares a buffer in workgroup memory.
  virtual void WriteWorkgroupMemory(Writer& w, const std::string& name, ir::Type buffer) = 0;
  /// The next three functions let all threads learn that one of them has stopped. `WriteStops` writes
  /// declarations at the start of the kernel. `stop` returns the statement that a stopping thread executes.
  /// `WriteBarrier` writes a barrier, after which all threads know of the stop.
  virtual void WriteStops(Writer&) {}
  virtual std::string_view stop() const { return ""; }
  virtual void WriteBarrier(Writer& w) = 0;
  /// Writes an op that copies blocks. Only some machines have such ops.
  virtual void WriteAsyncCopy(Writer& w, const ir::Op* op);
  /// Returns whether to write `#line` directives, which give the source position of each line.
  virtual bool names_lines() const { return false; }
};

/// Returns a directive such as `#line 3 "name.kdl"`, or an empty string if the source line is unknown.
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
  /// Private buffers that differ between threads. If one thread of the device runs all threads of the workgroup,
  /// there is a copy for each of them.
  std::unordered_set<const ir::Value*> differing = {};
  bool syncs = false;         ///< whether there are grid-wide barriers; a call executes one part
  bool traps = false;         ///< whether an op may stop a thread; stopped threads access no memory
  bool tells = false;         ///< whether all threads learn of a stop at the next barrier
  bool in_workgroup = false;  ///< whether the op is in a workgroup loop, where threads diverge
  ir::Loc loc = {};           ///< source position of the op that is being written

  /// Writes a line, indented by the current depth.
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
  /// Writes a definition such as `const float x = EXPRESSION;` and records the name `x` for the value.
  void Define(const ir::Value* value, std::string_view expression);
  /// Reserves scratch memory for a value that each thread keeps from one call of the kernel to the next.
  /// Returns the expression for that memory.
  std::string KeptPlace(Scalar scalar);
  /// Returns the name of the variable that is true while the thread has not stopped. Outside of workgroup
  /// loops, this variable is the same for all threads.
  std::string_view live() const { return in_workgroup ? "ok" : "going"; }
};

/// Returns the C type of a scalar in a register. A bool has the type int in a register, but uchar in memory.
/// A float below f32 has an integer type, for its bits.
std::string_view RegisterType(Scalar scalar);
/// Returns the C type of a scalar, or of a vector (such as `float4`).
std::string RegisterType(ir::Type type);
std::string_view MemoryType(Scalar scalar);
/// Returns the suffix that the prelude's functions for this type have, such as `f32`.
std::string_view Suffix(Scalar scalar);

/// Returns the text of a kernel and its tables. Buffers that the workgroup shares are placed in workgroup
/// memory, up to a total of `workgroup_bytes`.
std::string WriteKernel(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes,
                        Dialect& dialect);
void WriteRegion(Writer& w, const ir::Region* region);

/// Writes an op of the loop level, which is the lowest level of the IR. Each kind of op has a specialization
/// in one of the source files. If one is missing, linking fails.
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

/// Writes an op that computes one expression, which depends on the operand type.
void WriteExpression(Writer& w, const ir::Op* op);
constexpr bool HasExpression(const ir::OpInfo& info) {
  return info.is_computed() && info.is_in(ir::kLoops) && info.kind != ir::OpKind::Select &&
         info.kind != ir::OpKind::Cast && info.kind != ir::OpKind::ToBits &&
         info.kind != ir::OpKind::FromBits;
}
/// Writes nothing. Used for hints, and for ops whose work is done by the host or once for the whole kernel.
inline void WriteNothing(Writer&, const ir::Op*) {}

/// Return the expression for the element of a tensor that an access op refers to, or for an element of a
/// buffer.
std::string TensorElement(const Writer& w, const ir::Op* op, const ir::Value* tensor,
                          std::span<ir::Value* const> index);
std::string BufferElement(const Writer& w, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// Returns the guard `if (ok) ` if the kernel may stop threads, otherwise an empty string.
std::string Guard(const Writer& w);
/// Returns the expression for a size, in terms of the kernel's dimensions.
std::string SizeText(const Writer& w, Size size);
/// Writes code that stops the thread unless the condition `ok` holds. Outside of workgroup loops, the code
/// stops all threads.
void TrapUnless(Writer& w, const std::string& ok, const ir::Op* op, int32_t trap,
                std::string_view index, std::string_view bound);
/// Returns the definitions at the start of every generated text.
std::string_view Prelude();

}  // namespace kdl::codegen::opencl
