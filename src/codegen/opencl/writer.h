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

/// A tensor, or a buffer, of the kernel that is written.
struct Memory {
  std::string base;                  ///< a pointer expression
  std::vector<std::string> strides;  ///< in elements; empty of the last: 1
};

struct Writer;

/// What a machine has written in its own way. All else reads alike: where C is wanted, a prelude gives the words their meaning.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// The kernel whose body is written.
  virtual std::string Kernel(const Writer& w) const = 0;
  /// Declares a place of `count` elements near the workers.
  virtual void WriteWorkgroupMemory(Writer& w, const std::string& name, ir::Type buffer) = 0;
  /// Where others hear of a worker that has stopped: before all else, as a statement of who stops, and as a barrier after which
  /// all know.
  virtual void WriteStops(Writer&) {}
  virtual std::string_view stop() const { return ""; }
  virtual void WriteBarrier(Writer& w) = 0;
  /// Copies of blocks, of machines that have such.
  virtual void WriteBlockCopy(Writer& w, const ir::Op* op);
  /// Whether a compiler is told line by line where in the source they come from.
  virtual bool names_lines() const { return false; }
};

/// `#line 3 "name.kdl"` as a line of C; empty where the source does not say.
std::string LineDirective(const ir::Loc& loc);

/// What is known while one kernel is written. State only; the functions below do the work.
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
  bool syncs = false;         ///< it is called once for each part between barriers of the launch
  bool traps = false;         ///< an op may stop the worker: memory is touched only where none has
  bool tells = false;         ///< and all workers hear of it at the next barrier
  bool in_workgroup = false;  ///< in a loop of the team's, whose workers go their own ways
  ir::Loc loc = {};           ///< of the op that is written

  /// A line at the present depth.
  template <class... Args>
  void Line(fmt::format_string<Args...> format, Args&&... args) {
    if (dialect.names_lines()) text += LineDirective(loc);
    text.append(static_cast<size_t>(2 * depth), ' ');
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  }
  std::string_view Get(const ir::Value* value) const;
  /// A name that nothing else has, made of the value's.
  std::string NewName(const ir::Value* value);
  /// `const float x = EXPRESSION;`, and the value is `x`.
  void Define(const ir::Value* value, std::string_view expression);
  /// A new place in scratch for a value that each worker keeps from one call to the next.
  std::string KeptPlace(Scalar scalar);
  /// The variable that says whether the worker goes on; outside of loops of the team's all workers have one answer.
  std::string_view live() const { return in_workgroup ? "ok" : "going"; }
};

/// How a scalar lives in a register: bool int, floats below f32 their bits; and in memory: bool uchar.
std::string_view RegisterType(Scalar scalar);
/// Of a scalar, or a vector: `float4`.
std::string RegisterType(ir::Type type);
std::string_view MemoryType(Scalar scalar);
/// The suffix of the prelude's functions: `f32`.
std::string_view Suffix(Scalar scalar);

/// The text of a kernel, with its tables. Buffers of the team's lie near it as far as `near_bytes` go.
std::string WriteKernel(const ir::Function& kernel, KernelCode& code, int64_t workgroup_bytes,
                        Dialect& dialect);
void WriteRegion(Writer& w, const ir::Region* region);

/// Writes an op of the loop level: one function for each, where the op's group is; one that is missing does not link.
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

/// Ops of which one expression says what they compute, by the operands' type.
void WriteExpression(Writer& w, const ir::Op* op);
constexpr bool HasExpression(const ir::OpInfo& info) {
  return info.is_computed() && info.stands_in(ir::kLoops) && info.kind != ir::OpKind::Select &&
         info.kind != ir::OpKind::Cast && info.kind != ir::OpKind::ToBits &&
         info.kind != ir::OpKind::FromBits;
}
/// Nothing: what there is to do is done for the whole kernel, or by the host, or it is a hint.
inline void WriteNothing(Writer&, const ir::Op*) {}

/// The element that an access op's index names, and one of a buffer.
std::string TensorElement(const Writer& w, const ir::Op* op, const ir::Value* tensor,
                          std::span<ir::Value* const> index);
std::string BufferElement(const Writer& w, const ir::Value* buffer,
                          std::span<ir::Value* const> index);
/// `if (ok) ` where only workers that have not stopped may go on.
std::string Guard(const Writer& w);
/// The expression of a size over the kernel's dims.
std::string SizeText(const Writer& w, Size size);
/// Stops the worker unless `ok` holds; outside of loops of the team's all of them.
void TrapUnless(Writer& w, const std::string& ok, const ir::Op* op, int32_t trap,
                std::string_view index, std::string_view bound);
/// What every text begins with.
std::string_view Prelude();

}  // namespace kdl::codegen::opencl
