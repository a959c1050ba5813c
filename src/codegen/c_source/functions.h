#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/c_source/writer.h"
#include "codegen/orchestration/interface.h"

// The C functions of a kernel. Names of the file itself begin with `kdl_` and do not end in `_`, and no name of the
// user does (codegen/orchestration/cpp_names.h).

namespace kdl::codegen::c_source {

/// A kernel and its function in C.
struct KernelFace {
  const FaceCall* call;
  const ir::Function* lowered;

  std::string blocks() const { return "kdl_" + call->c_name + "_blocks"; }
  std::string on_core() const { return "kdl_" + call->c_name + "_on_core"; }
  std::string arguments() const { return "kdl_" + call->c_name + "_arguments"; }
  std::string body() const { return "kdl_" + call->c_name + "_body"; }
};

/// Returns the parameters of the public function: first the sizes, then the parameters in the source.
std::vector<std::string> Parameters(const FaceCall& call);
void WriteDoc(codegen::Writer& writer, const FaceCall& call);

/// Binds sizes and parameters of the kernel to the names in the function's signature.
void BindParameters(Writer& w, const FaceCall& call);

struct InnerFunctionText {
  std::string text;
  int64_t scratch_bytes = 0;  ///< of each core
  std::optional<NotInC> failure;
};
/// Returns the function that runs the blocks of one core, and the one that calls it in the floating-point state
/// for which results are defined.
InnerFunctionText InnerFunction(const KernelFace& face, Helpers& helpers,
                                std::span<const ir::MatrixInstruction* const> instructions);

/// Returns the public function, which checks its arguments, allocates memory, and runs one core or all, and the
/// definitions before it.
std::string OuterFunction(const KernelFace& face, Helpers& helpers, int64_t scratch_bytes);

// launch_checks.cpp
/// Writes code that returns an error unless the kernel may run with these arguments.
void WriteLaunchChecks(Writer& w, const FaceCall& call);
/// Defines a variable with the bytes of a tensor, which is -1 if it cannot exist. Also writes code that returns an
/// error about `text` if a size overflows or divides by 0.
void WriteBytes(Writer& w, const std::string& name, ir::Type tensor, std::string_view text);

}  // namespace kdl::codegen::c_source
