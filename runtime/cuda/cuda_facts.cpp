#include "cuda/cuda_facts.h"

#include <algorithm>
#include <iterator>
#include <string>

namespace kdl::runtime {

namespace {

// Code for an architecture level also runs on GPUs of later levels. An exception is code for a level whose
// name ends in `a`, which runs only on that level.
struct CodeLevel {
  const char* arch;
  int level;
  bool alone;
};
constexpr CodeLevel kCodeLevels[] = {
    {"sm_90a", 90, true}, {"sm_90", 90, false}, {"sm_80", 80, false}};

bool Runs(const CodeLevel& code, int level) {
  return code.alone ? level == code.level : level >= code.level;
}

}  // namespace

std::string CudaArchsOf(int level) {
  std::string archs;
  for (const CodeLevel& code : kCodeLevels) {
    if (!Runs(code, level)) continue;
    archs += (archs.empty() ? "" : " ") + std::string(code.arch);
  }
  return archs;
}

bool CudaRunsMachineCode(int level, std::string_view arch) {
  constexpr int kGeneration = 10;
  return std::ranges::any_of(kCodeLevels, [&](const CodeLevel& code) {
    return arch == code.arch && Runs(code, level) &&
           code.level / kGeneration == level / kGeneration;
  });
}

void CudaFacts(void* device, kdl_device_facts* facts) {
  const CudaDevice& cuda = CudaDevice::FromHandle(device);
  // The number of cores per multiprocessor, for programs that compute with it and for kernels whose results
  // depend on it. All other launches use the number that fits the kernel (CudaCoresOf).
  constexpr std::int64_t kCoresAtOnce = 8;
  *facts = {.size = sizeof *facts,
            .version = KDL_PLUGIN_VERSION,
            .cores = cuda.multiprocessors * kCoresAtOnce,
            .resident = 0,
            .memory_bytes = cuda.TotalBytes(),
            .exact = 1,
            .host_visible = 0,
            .functional = 0,
            .checks_order = 0,
            .features = 0,
            .image_kind = "cuda",
            .arch = cuda.arch.c_str(),
            .capabilities = 0};
}

std::int64_t CudaProperties(void* device, kdl_property* properties, std::int64_t capacity) {
  struct Row {
    const char* name;
    int attribute;
  };
  constexpr Row kRows[] = {
      {"multiprocessors", cu::kMultiprocessors},
      {"clock in kHz", cu::kClock},
      {"threads of a warp", cu::kWarp},
      {"threads of a block", cu::kBlockThreads},
      {"threads of a multiprocessor", cu::kMultiprocessorThreads},
      {"registers of a block", cu::kBlockRegisters},
      {"registers of a multiprocessor", cu::kMultiprocessorRegisters},
      {"bytes of shared memory of a block", cu::kMostWorkgroup},
      {"bytes of it that the driver uses", cu::kReservedWorkgroup},
      {"bytes of shared memory of a multiprocessor", cu::kMultiprocessorWorkgroup},
      {"bytes of second-level cache", cu::kSecondLevelBytes},
      {"bytes of constants", cu::kConstantBytes},
      {"memory pools", cu::kHasPools}};
  const CudaDevice& cuda = CudaDevice::FromHandle(device);
  std::vector<kdl_property> all = {{"name", cuda.name.c_str(), 0},
                                   {"level", cuda.level.c_str(), 0}};
  for (const Row& row : kRows) all.push_back({row.name, nullptr, cuda.Attribute(row.attribute)});
  std::copy_n(all.begin(), std::clamp<std::int64_t>(capacity, 0, std::ssize(all)), properties);
  return std::ssize(all);
}

}  // namespace kdl::runtime
