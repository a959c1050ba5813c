// slices_caller SHARED CORES SPEC runs every kernel of a shared object in part of a larger workspace. Before
// each core runs, all of the memory is poisoned. Afterwards, everything outside the core's own slice must
// still be poisoned.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kdl/kernel_abi.h"
#include "kdl/runtime.hpp"

namespace {

constexpr int kPoison = 0xC3;
constexpr std::int64_t kGuard = 1 << 16;
constexpr std::size_t kMostVariants = 8;

std::array<kdl_kernel_fn, kMostVariants> g_entries;
std::int64_t g_slice = 0;
std::int64_t g_bytes = 0;
std::int64_t g_calls = 0;
std::string g_fault;

template <std::size_t kVariant>
std::int32_t Checked(const kdl_args* args, kdl_core* core) {
  char* base = static_cast<char*>(core->workspace) - core->slot * g_slice;
  std::memset(base, kPoison, static_cast<std::size_t>(g_bytes));
  const std::int32_t result = g_entries[kVariant](args, core);
  ++g_calls;
  for (std::int64_t at = 0; at < g_bytes; ++at) {
    if (at == core->slot * g_slice) at += g_slice;
    if (static_cast<unsigned char>(base[at]) == kPoison || !g_fault.empty()) continue;
    g_fault = "core " + std::to_string(core->core_id) + " in slot " + std::to_string(core->slot) +
              " wrote byte " + std::to_string(at) + "; slices have " + std::to_string(g_slice);
  }
  return result;
}

template <std::size_t... kVariants>
constexpr auto CheckedEntries(std::index_sequence<kVariants...>) {
  return std::array{&Checked<kVariants>...};
}
constexpr auto kChecked = CheckedEntries(std::make_index_sequence<kMostVariants>());

// A copy of `image` with wrapped entries; its kernels have one entry each.
struct Wrapped {
  explicit Wrapped(const kdl_image& original) : image(original), kernel(original.kernels[0]) {
    for (std::int32_t v = 0; v < kernel.variant_count; ++v) {
      variants.push_back(kernel.variants[v]);
      g_entries.at(static_cast<std::size_t>(v)) = variants.back().entry;
      variants.back().entry = kChecked.at(static_cast<std::size_t>(v));
    }
    kernel.variants = variants.data();
    image.kernels = &kernel;
    image.kernel_count = 1;
  }

  kdl_image image;
  kdl_kernel kernel;
  std::vector<kdl_variant> variants;
};

const kdl_image* HostImage(const char* path) {
  void* object = dlopen(path, RTLD_NOW);
  if (object == nullptr) throw std::runtime_error(dlerror());
  const auto* images = static_cast<const kdl_image* const*>(dlsym(object, "kdl_module_images"));
  while (*images != nullptr && std::strcmp((*images)->kind, "host") != 0) ++images;
  return *images;
}

std::vector<float> Result(const kdl::Tensor& y) {
  const auto mapping = y.Map<const float>(KDL_MAP_READ);
  return {mapping.begin(), mapping.end()};
}

std::string Check(const kdl_image& image, std::int64_t cores, const char* spec) {
  constexpr std::int64_t kRows = 201;
  constexpr std::int64_t kColumns = 77;
  constexpr std::int64_t kBlocks = 26 * 5;  // blocks of 8 x 16; cores beyond these need not run
  kdl::Context context;
  context.Register(std::array<const kdl_image*, 2>{&image, nullptr}.data());
  const kdl::Device device = context.Select(spec);
  const kdl::Tensor x = context.Allocate(device, kdl::f32, {kRows, kColumns}, "x");
  const kdl::Tensor y = context.Allocate(device, kdl::f32, {kRows, kColumns}, "y");
  std::vector<float> values;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i)
    values.push_back(static_cast<float>(i % 1009) * 0.25F);
  {
    auto mapping = x.Map<float>(KDL_MAP_WRITE);
    std::copy(values.begin(), values.end(), mapping.begin());
    mapping.Close();
  }
  const std::string name = std::string(image.module) + "." + image.kernels[0].name;
  g_slice = device.Footprint(name.c_str());
  g_bytes = device.Instances(cores) * g_slice + kGuard;
  g_calls = 0;
  if (g_slice == 0) return "the kernel takes no workspace";
  kdl::Workspace workspace(device, "slices");
  workspace.Reserve(1, g_bytes);
  device.queue().Launch(name.c_str(), cores, {x, y}, {}, nullptr, workspace).Wait();
  if (g_calls < std::min(cores, kBlocks))
    return std::to_string(g_calls) + " calls for " + std::to_string(cores) + " cores";
  const std::vector<float> result = Result(y);
  for (std::int64_t at = 0; at < kRows * kColumns; ++at) {
    const auto row = static_cast<std::size_t>(at / kColumns / 8 * 8 * kColumns + at % kColumns);
    const auto index = static_cast<std::size_t>(at);
    if (result[index] != values[index] * 2 + values[row])
      return "element " + std::to_string(at) + " is wrong";
  }
  return g_fault;
}

}  // namespace

int main(int, char** argv) {
  const Wrapped wrapped(*HostImage(argv[1]));
  const std::string fault = Check(wrapped.image, std::atoll(argv[2]), argv[3]);
  if (!fault.empty()) std::printf("%s\n", fault.c_str());
  return fault.empty() ? 0 : 1;
}
