// Tests what the debug device detects. The kernels here break the rules on purpose.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "kdl/kernel_abi.h"
#include "kdl/runtime.hpp"

namespace kdl {
namespace {

// Writes one byte at offset `at` of the second tensor, or of the first tensor if the scalar `which` is 0.
std::int32_t Poke(const kdl_args* args, kdl_core* core) {
  if (core->core_id != 0) return KDL_DONE;
  const auto which = static_cast<std::size_t>(args->scalars[0]);
  const auto at = static_cast<std::int64_t>(args->scalars[1]);
  static_cast<char*>(args->tensors[which].data)[at] = 1;
  return KDL_DONE;
}

// y[i] = n if core i ran as number n and found y and its scratch memory undefined, else 0.
std::int32_t Look(const kdl_args* args, kdl_core* core) {
  auto* scratch = static_cast<unsigned char*>(core->scratch);
  auto* y = static_cast<float*>(args->tensors[1].data);
  bool undefined = scratch[0] == 0xff && scratch[99] == 0xff;
  undefined = undefined && std::isnan(y[core->core_id]);
  std::memset(scratch, 0, 100);
  const std::int64_t position = ++std::atomic_ref(core->launch->dynamic_counters[0]);
  y[core->core_id] = undefined ? static_cast<float>(position) : 0.0f;
  return KDL_DONE;
}

struct Tables {
  kdl_param_desc params[4] = {};
  const char* dims[1] = {"N"};
  kdl_variant variants[2] = {};
  kdl_kernel kernels[2] = {};
  kdl_image image = {};

  Tables() {
    const char* const names[] = {"which", "at", "x", "y"};
    for (int p = 0; p < 4; ++p) {
      params[p].name = names[p];
      params[p].shape = p < 2 ? "" : "[N]";
      params[p].is_tensor = p < 2 ? 0 : 1;
      params[p].direction = p == 3 ? KDL_OUT : KDL_IN;
      params[p].element = p < 2 ? KDL_I64 : KDL_F32;
      params[p].rank = p < 2 ? 0 : 1;
    }
    const kdl_kernel_fn entries[] = {Poke, Look};
    const char* const kernel_names[] = {"poke", "look"};
    for (int k = 0; k < 2; ++k) {
      variants[k].entry = entries[k];
      variants[k].symbol = kernel_names[k];
      variants[k].constants = "";
      variants[k].params = params;
      variants[k].dims = dims;
      variants[k].param_count = 4;
      variants[k].dim_count = 1;
      variants[k].dynamic_counter_count = 1;
      variants[k].scratch_bytes = 100;
      kernels[k] = {kernel_names[k], &variants[k], 1, 0};
    }
    image.size = sizeof image;
    image.version = KDL_ABI_VERSION;
    image.abi_hash = KDL_ABI_HASH;
    image.module = "faults";
    image.kind = "host";
    image.arch = "";
    image.kernels = kernels;
    image.kernel_count = 2;
  }
};

struct Setup {
  explicit Setup(const char* spec = "debug") {
    const kdl_image* const images[] = {&tables.image, nullptr};
    context.Register(images);
    device = context.Select(spec);
    x = context.Allocate(device, f32, {16}, "x");
    y = context.Allocate(device, f32, {16}, "y");
    device.queue().Fill(x, 0.0f).Wait();
  }

  // Writes one byte at offset `at` of x (`which` = 0) or of y (`which` = 1). Returns the error of the launch.
  std::string Poke(std::int64_t which, std::int64_t at) const {
    try {
      device.queue().Launch("poke", 2, {which, at, x, y}).Wait();
      return "";
    } catch (const Error& error) {
      CHECK(error.code() == KDL_ERROR_INTERNAL);
      return error.what();
    }
  }

  Tables tables;
  Context context;
  Device device;
  Tensor x;
  Tensor y;
};

TEST_CASE("debug: writes outside a buffer are detected, and reported once") {
  const Setup setup;
  CHECK(setup.Poke(1, 64) == "kernel 'poke' wrote byte 64 of 'y', which has 64");
  CHECK(setup.Poke(1, 80) == "kernel 'poke' wrote byte 80 of 'y', which has 64");
  CHECK(setup.Poke(1, -3) == "kernel 'poke' wrote 3 bytes before the start of 'y'");
  CHECK(setup.Poke(1, 3) == "");
}

TEST_CASE("debug: writes to an input are detected") {
  const Setup setup;
  CHECK(setup.Poke(0, 20) ==
        "kernel 'poke' wrote byte 20 of 'x', which no out or inout tensor of the launch covers");
  CHECK(setup.Poke(1, 20) == "");
}

TEST_CASE("debug: fresh memory, outputs and scratch have undefined contents") {
  const Setup setup;
  const Tensor fresh = setup.context.Allocate(setup.device, f32, {5});
  for (float value : fresh.Map<const float>(KDL_MAP_READ)) CHECK(std::isnan(value));
  setup.device.queue().Fill(setup.y, 7.0f).Wait();
  setup.device.queue()
      .Launch("look", 16, {std::int64_t{0}, std::int64_t{0}, setup.x, setup.y})
      .Wait();
  for (float value : setup.y.Map<const float>(KDL_MAP_READ)) CHECK(value > 0.0f);
}

TEST_CASE("debug: the order of cores is random and depends on the seed") {
  const auto run = [](const char* spec) {
    const Setup setup(spec);
    setup.device.queue()
        .Launch("look", 16, {std::int64_t{0}, std::int64_t{0}, setup.x, setup.y})
        .Wait();
    const Mapping<const float> positions = setup.y.Map<const float>(KDL_MAP_READ);
    return std::vector<float>(positions.begin(), positions.end());
  };
  const std::vector<float> first = run("debug?seed=5&threads=1");
  CHECK(first == run("debug?seed=5&threads=1"));
  CHECK(first != run("debug?seed=6&threads=1"));
  std::vector<float> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  CHECK(first != sorted);
  for (std::size_t i = 0; i < 16; ++i) CHECK(sorted[i] == static_cast<float>(i + 1));
}

TEST_CASE("debug: addresses are invalid in the process, and their alignment is exactly 64") {
  const Setup setup;
  const auto address = reinterpret_cast<std::uintptr_t>(kdl_buffer_address(setup.x.array().buffer));
  CHECK((address >> 55) == 1);
  CHECK(address % 128 == 64);
}

}  // namespace
}  // namespace kdl
