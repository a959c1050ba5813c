#include "targets/simt/assemble_ptx.h"

#include <fmt/format.h>

#include "support/io.h"
#include "support/process.h"

namespace kdl::simt {

namespace {

constexpr size_t kMostCode = size_t{1} << 30;

Failure Missing() {
  return {
      "code=cubin needs ptxas, which is not on PATH; install the CUDA toolkit or the PyPI package "
      "nvidia-cuda-nvcc, or omit code=cubin: the GPU's driver then compiles the PTX",
      FailureKind::Environment};
}

}  // namespace

Result<std::string> AssemblePtx(const std::string& ptx, std::string_view level) {
  std::string program = FindProgram({"ptxas"});
  if (program.empty()) return Missing();
  Result<TemporaryFolder> folder = TemporaryFolder::Make();
  if (!folder) return folder.failure();
  Status written = WriteFileWhole(folder->path() + "/kernels.ptx", ptx);
  if (!written) return written.failure();
  ProcessRequest request;
  request.folder = folder->path();
  request.words = {program, fmt::format("-arch={}", level), "-o", "kernels.cubin", "kernels.ptx"};
  Result<ProcessResult> result = RunProcess(request);
  if (!result) return result.failure();
  if (!result->ok())
    return Failure{fmt::format("{} {}; it said: {}{}", program, DescribeEnd(*result, request),
                               result->out, result->err),
                   FailureKind::Environment};
  return ReadFile(folder->path() + "/kernels.cubin", kMostCode);
}

}  // namespace kdl::simt
