#include "conformance/kernels.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <thread>

namespace kdl::conformance {

namespace {

constexpr kdl_param_desc TensorParam(const char* name, const char* shape, int direction,
                                     int element, std::initializer_list<int> symbols) {
  kdl_param_desc param = {};
  param.name = name;
  param.shape = shape;
  param.is_tensor = 1;
  param.direction = static_cast<std::uint8_t>(direction);
  param.element = static_cast<std::uint8_t>(element);
  for (int symbol : symbols) param.dim_symbol[param.rank++] = symbol;
  return param;
}

constexpr kdl_param_desc ScalarParam(const char* name, int element) {
  kdl_param_desc param = {};
  param.name = name;
  param.shape = "";
  param.element = static_cast<std::uint8_t>(element);
  return param;
}

// Appends a dimension with the constant size 4.
constexpr kdl_param_desc LastIsFour(kdl_param_desc param) {
  param.dim_symbol[param.rank] = KDL_DIM_CONST;
  param.dim_const[param.rank++] = 4;
  return param;
}

struct Extra {
  const char* constants = "";
  const kdl_location* locations = nullptr;
  int location_count = 0;
  int dynamic_counter_count = 0;
  std::int64_t scratch_bytes = 0;
  std::int64_t frame_bytes = 0;
  std::int64_t footprint_bytes = 0;
  std::uint32_t flags = 0;
  kdl_check_fn check = nullptr;
  kdl_shared_bytes_fn shared_bytes = nullptr;
  kdl_busy_cores_fn busy_cores = nullptr;
};

template <int kParams, int kDims>
constexpr kdl_variant Variant(const char* symbol, kdl_kernel_fn entry,
                              const kdl_param_desc (&params)[kParams],
                              const char* const (&dims)[kDims], const Extra& extra = {}) {
  kdl_variant variant = {};
  variant.entry = entry;
  variant.check = extra.check;
  variant.shared_bytes = extra.shared_bytes;
  variant.busy_cores = extra.busy_cores;
  variant.symbol = symbol;
  variant.constants = extra.constants;
  variant.params = params;
  variant.dims = dims;
  variant.locations = extra.locations;
  variant.param_count = kParams;
  variant.dim_count = kDims;
  variant.location_count = extra.location_count;
  variant.dynamic_counter_count = extra.dynamic_counter_count;
  variant.scratch_bytes = extra.scratch_bytes;
  variant.frame_bytes = extra.frame_bytes;
  variant.footprint_bytes = extra.footprint_bytes;
  variant.flags = extra.flags;
  return variant;
}

template <class T>
T* Elements(const kdl_args* args, int tensor) {
  return static_cast<T*>(args->tensors[tensor].data);
}

template <class T>
T Scalar(const kdl_args* args, int scalar) {
  T value;
  std::memcpy(&value, &args->scalars[scalar], sizeof value);
  return value;
}

// Calls body(n) for each block n below `count` that is assigned to this core.
template <class Body>
void ForMyBlocks(const kdl_core* core, std::int64_t count, Body body) {
  for (std::int64_t n = core->core_id; n < count; n += core->core_num) body(n);
}

constexpr const char* kN[] = {"N"};

// ---- saxpy ----

template <class T>
std::int32_t Saxpy(const kdl_args* args, kdl_core* core) {
  constexpr std::int64_t kBlock = 64;
  const std::int64_t n = args->dims[0];
  const T a = Scalar<T>(args, 0);
  const T* x = Elements<T>(args, 0);
  T* y = Elements<T>(args, 1);
  ForMyBlocks(core, (n + kBlock - 1) / kBlock, [&](std::int64_t block) {
    for (std::int64_t i = block * kBlock; i < n && i < (block + 1) * kBlock; ++i) {
      y[i] = std::fma(a, x[i], y[i]);
    }
  });
  return KDL_DONE;
}

constexpr kdl_param_desc kSaxpyF32[] = {ScalarParam("a", KDL_F32),
                                        TensorParam("x", "[N]", KDL_IN, KDL_F32, {0}),
                                        TensorParam("y", "[N]", KDL_INOUT, KDL_F32, {0})};
constexpr kdl_param_desc kSaxpyF64[] = {ScalarParam("a", KDL_F64),
                                        TensorParam("x", "[N]", KDL_IN, KDL_F64, {0}),
                                        TensorParam("y", "[N]", KDL_INOUT, KDL_F64, {0})};
constexpr kdl_variant kSaxpy[] = {
    Variant("saxpy.f32", Saxpy<float>, kSaxpyF32, kN, {.constants = "T=f32"}),
    Variant("saxpy.f64", Saxpy<double>, kSaxpyF64, kN, {.constants = "T=f64"})};

// ---- mark ----

std::int32_t Mark(const kdl_args* args, kdl_core* core) {
  if (core->core_id < args->dims[0])
    Elements<std::int64_t>(args, 0)[core->core_id] += core->core_num;
  return KDL_DONE;
}

constexpr kdl_param_desc kI64InOut[] = {TensorParam("y", "[N]", KDL_INOUT, KDL_I64, {0})};
constexpr kdl_variant kMark[] = {Variant("mark", Mark, kI64InOut, kN)};

// ---- spin ----

std::int32_t Spin(const kdl_args*, kdl_core* core) {
  while (std::atomic_ref(core->launch->stop).load() == 0) std::this_thread::yield();
  return KDL_DONE;
}

constexpr kdl_variant kSpin[] = {Variant("spin", Spin, kI64InOut, kN)};

// ---- row_sums ----

std::int32_t RowSums(const kdl_args* args, kdl_core* core) {
  const std::int64_t columns = args->dims[1];
  const kdl_tensor& x = args->tensors[0];
  ForMyBlocks(core, args->dims[0], [&](std::int64_t r) {
    const float* row = Elements<float>(args, 0) + r * x.stride[0];
    float sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) sum += row[c];
    Elements<float>(args, 1)[r] = sum;
  });
  return KDL_DONE;
}

constexpr const char* kRC[] = {"R", "C"};
constexpr kdl_param_desc kRowSumsParams[] = {TensorParam("x", "[R, C]", KDL_IN, KDL_F32, {0, 1}),
                                             TensorParam("y", "[R]", KDL_OUT, KDL_F32, {0})};
constexpr kdl_variant kRowSums[] = {Variant("row_sums", RowSums, kRowSumsParams, kRC)};

// ---- matmul ----

std::int32_t Matmul(const kdl_args* args, kdl_core* core) {
  const std::int64_t columns = args->dims[2];
  const kdl_tensor* t = args->tensors;
  ForMyBlocks(core, args->dims[0], [&](std::int64_t i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < args->dims[1]; ++k) {
        sum = std::fma(Elements<float>(args, 0)[i * t[0].stride[0] + k],
                       Elements<float>(args, 1)[k * t[1].stride[0] + j], sum);
      }
      Elements<float>(args, 2)[i * t[2].stride[0] + j] = sum;
    }
  });
  return KDL_DONE;
}

constexpr const char* kMKN[] = {"M", "K", "N"};
constexpr kdl_param_desc kMatmulParams[] = {TensorParam("a", "[M, K]", KDL_IN, KDL_F32, {0, 1}),
                                            TensorParam("b", "[K, N]", KDL_IN, KDL_F32, {1, 2}),
                                            TensorParam("c", "[M, N]", KDL_OUT, KDL_F32, {0, 2})};
constexpr kdl_variant kMatmul[] = {Variant("matmul", Matmul, kMatmulParams, kMKN)};

// ---- quads, halve ----

std::int32_t Quads(const kdl_args* args, kdl_core* core) {
  ForMyBlocks(core, args->dims[0], [&](std::int64_t n) {
    const std::int32_t* x = Elements<std::int32_t>(args, 0) + n * args->tensors[0].stride[0];
    Elements<std::int32_t>(args, 1)[n] = x[0] + x[1] + x[2] + x[3];
  });
  return KDL_DONE;
}

constexpr kdl_param_desc kQuadsParams[] = {
    LastIsFour(TensorParam("x", "[N, 4]", KDL_IN, KDL_I32, {0})),
    TensorParam("y", "[N]", KDL_OUT, KDL_I32, {0})};
constexpr kdl_variant kQuads[] = {Variant("quads", Quads, kQuadsParams, kN)};

std::int32_t Halve(const kdl_args* args, kdl_core* core) {
  const std::int32_t* x = Elements<std::int32_t>(args, 0);
  ForMyBlocks(core, args->dims[1], [&](std::int64_t g) {
    Elements<std::int32_t>(args, 1)[g] = x[2 * g] + x[2 * g + 1];
  });
  return KDL_DONE;
}

std::int32_t CheckHalve(std::int64_t* dims, const kdl_args*, kdl_trap* trap) {
  if (dims[0] == 2 * dims[1]) return KDL_DONE;
  *trap = {.code = KDL_TRAP_CONDITION,
           .location = 0,
           .index = dims[0],
           .bound = 2 * dims[1],
           .waits = {}};
  return KDL_TRAPPED;
}

constexpr const char* kCG[] = {"C", "G"};
constexpr kdl_location kHalveLocations[] = {
    {"suite.kdl", "C == 2 * G", 7, 11, KDL_TRAP_CONDITION, -1, 0, 0}};
constexpr kdl_param_desc kHalveParams[] = {TensorParam("x", "[C]", KDL_IN, KDL_I32, {0}),
                                           TensorParam("y", "[G]", KDL_OUT, KDL_I32, {1})};
constexpr kdl_variant kHalve[] = {
    Variant("halve", Halve, kHalveParams, kCG,
            {.locations = kHalveLocations, .location_count = 1, .check = CheckHalve})};

// ---- scalars, many ----

std::int32_t Scalars(const kdl_args* args, kdl_core* core) {
  if (core->core_id != 0) return KDL_DONE;
  for (std::int64_t k = 0; k < args->dims[0]; ++k) {
    Elements<std::uint64_t>(args, 0)[k] = args->scalars[k];
  }
  return KDL_DONE;
}

constexpr kdl_param_desc kScalarsParams[] = {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  ScalarParam(#ID, KDL_##ID),
#include "kdl/scalars.def"
    TensorParam("y", "[N]", KDL_OUT, KDL_U64, {0})};
constexpr kdl_variant kScalars[] = {Variant("scalars", Scalars, kScalarsParams, kN)};

constexpr int kManyTensors = 70;
constexpr int kManyScalars = 10;

std::int32_t Many(const kdl_args* args, kdl_core* core) {
  ForMyBlocks(core, args->dims[0], [&](std::int64_t n) {
    std::int64_t sum = 0;
    for (int t = 0; t < kManyTensors; ++t) sum += Elements<std::int32_t>(args, t)[n];
    for (int s = 0; s < kManyScalars; ++s) sum += Scalar<std::int64_t>(args, s);
    Elements<std::int64_t>(args, kManyTensors)[n] = sum;
  });
  return KDL_DONE;
}

struct ManyParams {
  kdl_param_desc params[kManyTensors + kManyScalars + 1];
};

constexpr ManyParams MakeManyParams() {
  ManyParams many = {};
  for (int t = 0; t < kManyTensors; ++t) {
    many.params[t] = TensorParam("x", "[N]", KDL_IN, KDL_I32, {0});
  }
  for (int s = 0; s < kManyScalars; ++s) many.params[kManyTensors + s] = ScalarParam("s", KDL_I64);
  many.params[kManyTensors + kManyScalars] = TensorParam("y", "[N]", KDL_OUT, KDL_I64, {0});
  return many;
}

constexpr ManyParams kManyParams = MakeManyParams();
constexpr kdl_variant kMany[] = {Variant("many", Many, kManyParams.params, kN)};

// ---- trap_at ----

std::int32_t TrapAt(const kdl_args* args, kdl_core* core) {
  const auto at = Scalar<std::int64_t>(args, 0);
  for (std::int64_t i = core->core_id; i < args->dims[0]; i += core->core_num) {
    if (i == at) {
      core->trap = {.code = KDL_TRAP_INDEX,
                    .location = 0,
                    .index = at + args->dims[0],
                    .bound = args->dims[0],
                    .waits = {}};
      return KDL_TRAPPED;
    }
    ++Elements<std::int32_t>(args, 0)[i];
  }
  return KDL_DONE;
}

constexpr kdl_location kTrapLocations[] = {
    {"suite.kdl", "y[i + N]", 12, 9, KDL_TRAP_INDEX, 0, 0, 0}};
constexpr kdl_param_desc kTrapParams[] = {ScalarParam("at", KDL_I64),
                                          TensorParam("y", "[N]", KDL_INOUT, KDL_I32, {0})};
constexpr kdl_variant kTrapAt[] = {Variant("trap_at", TrapAt, kTrapParams, kN,
                                           {.locations = kTrapLocations, .location_count = 1})};

// ---- barriers ----

// The values that a core keeps across barriers.
struct Frame {
  std::int64_t step;
  std::int64_t check;
};

std::int32_t Exchange(const kdl_args* args, kdl_core* core) {
  const std::int64_t n = args->dims[0];
  auto* x = Elements<std::int64_t>(args, 0);
  auto* frame = static_cast<Frame*>(core->frame);
  if (frame->step == 0) {
    ForMyBlocks(core, n, [&](std::int64_t i) { x[i] = core->core_id; });
    *frame = {1, core->core_id + 100};
    return KDL_BARRIER;
  }
  // The result would be wrong if the core got another core's frame.
  const std::int64_t error = frame->check - core->core_id - 100;
  ForMyBlocks(core, n,
              [&](std::int64_t i) { Elements<std::int64_t>(args, 1)[i] = x[(i + 1) % n] + error; });
  return KDL_DONE;
}

constexpr kdl_param_desc kExchangeParams[] = {TensorParam("x", "[N]", KDL_INOUT, KDL_I64, {0}),
                                              TensorParam("y", "[N]", KDL_OUT, KDL_I64, {0})};
constexpr kdl_variant kExchange[] = {
    Variant("exchange", Exchange, kExchangeParams, kN,
            {.frame_bytes = sizeof(Frame), .flags = KDL_VARIANT_SYNC})};

std::int32_t Endless(const kdl_args*, kdl_core* core) {
  auto* frame = static_cast<Frame*>(core->frame);
  if (core->core_id == 0 && ++frame->step == 3) {
    core->trap = {.code = KDL_TRAP_ASSERT, .location = 0, .index = 0, .bound = 0, .waits = {}};
    return KDL_TRAPPED;
  }
  return KDL_BARRIER;
}

constexpr kdl_location kEndlessLocations[] = {
    {"suite.kdl", "enough", 30, 5, KDL_TRAP_ASSERT, -1, 0, 0}};
constexpr kdl_variant kEndless[] = {Variant("endless", Endless, kI64InOut, kN,
                                            {.locations = kEndlessLocations,
                                             .location_count = 1,
                                             .frame_bytes = sizeof(Frame),
                                             .flags = KDL_VARIANT_SYNC})};

// ---- dynamic_counter ----

std::int32_t DynamicCounter(const kdl_args* args, kdl_core* core) {
  const std::atomic_ref<std::int64_t> counter(core->launch->dynamic_counters[0]);
  for (;;) {
    const std::int64_t n = counter.fetch_add(1);
    if (n >= args->dims[0]) return KDL_DONE;
    ++Elements<std::int64_t>(args, 0)[n];
  }
}

constexpr kdl_variant kDynamicCounter[] = {
    Variant("dynamic_counter", DynamicCounter, kI64InOut, kN, {.dynamic_counter_count = 1})};

// ---- scratch, workspace ----

constexpr std::int64_t kScratchBytes = 1000;

std::int32_t Scratch(const kdl_args* args, kdl_core* core) {
  auto* words = static_cast<std::int64_t*>(core->scratch);
  constexpr std::int64_t kWords = kScratchBytes / 8;
  std::int64_t mine = reinterpret_cast<std::uintptr_t>(words) % KDL_SCRATCH_ALIGNMENT == 0 ? 1 : 0;
  for (std::int64_t i = 0; i < kWords; ++i) words[i] = core->core_id * kWords + i;
  for (std::int64_t i = 0; i < kWords; ++i) {
    if (words[i] != core->core_id * kWords + i) mine = 0;
  }
  if (core->core_id < args->dims[0]) Elements<std::int64_t>(args, 0)[core->core_id] = mine;
  return KDL_DONE;
}

constexpr kdl_variant kScratch[] = {
    Variant("scratch", Scratch, kI64InOut, kN, {.scratch_bytes = kScratchBytes})};

constexpr std::int64_t kSliceBytes = 200;

std::int32_t Workspace(const kdl_args* args, kdl_core* core) {
  auto* slice = static_cast<std::int64_t*>(core->workspace);
  auto* shared = static_cast<std::int64_t*>(core->launch->shared);
  *slice = core->core_id;
  shared[core->core_id] = *slice;
  if (core->core_id < args->dims[0]) {
    Elements<std::int64_t>(args, 0)[core->core_id] = shared[core->core_id];
  }
  return KDL_DONE;
}

std::int64_t SharedBytes(const kdl_args*, std::int64_t core_num) {
  return core_num > INT64_MAX / 8 ? -1 : core_num * 8;
}

constexpr kdl_param_desc kI64Out[] = {TensorParam("y", "[N]", KDL_OUT, KDL_I64, {0})};
constexpr kdl_variant kWorkspace[] = {
    Variant("workspace", Workspace, kI64Out, kN,
            {.footprint_bytes = kSliceBytes, .shared_bytes = SharedBytes})};

/// Fills this core's slice of the workspace with the number of its workspace slot, and stores that number in
/// y.
std::int32_t Slices(const kdl_args* args, kdl_core* core) {
  std::memset(core->workspace, static_cast<int>(core->slot % 100), kSliceBytes);
  if (core->core_id < args->dims[0]) Elements<std::int64_t>(args, 0)[core->core_id] = core->slot;
  const auto* bytes = static_cast<const unsigned char*>(core->workspace);
  for (std::int64_t i = 0; i < kSliceBytes; ++i) {
    if (bytes[i] != core->slot % 100) return KDL_TRAPPED;
  }
  return KDL_DONE;
}

constexpr kdl_variant kSlices[] = {
    Variant("slices", Slices, kI64InOut, kN, {.footprint_bytes = kSliceBytes})};

std::int64_t FirstSize(const kdl_args* args) { return args->dims[0]; }

constexpr kdl_variant kBusySlices[] = {
    Variant("busy_slices", Slices, kI64InOut, kN,
            {.footprint_bytes = kSliceBytes, .busy_cores = FirstSize})};

// ---- print ----

std::int32_t Print(const kdl_args* args, kdl_core* core) {
  if (core->core_id != 0) return KDL_DONE;
  kdl_tensor values[2] = {args->tensors[0], {}};
  values[1].data = const_cast<std::int64_t*>(args->dims);
  values[1].element = KDL_I64;
  values[1].element_bits = 64;
  core->launch->host->print(core, 0, 2, values);
  return KDL_DONE;
}

constexpr kdl_location kPrintLocations[] = {{"suite.kdl", "x is {}, N is {}", 40, 5, 0, -1, 0, 0}};
constexpr kdl_param_desc kPrintParams[] = {TensorParam("x", "[N]", KDL_IN, KDL_F32, {0})};
constexpr kdl_variant kPrint[] = {
    Variant("print", Print, kPrintParams, kN, {.locations = kPrintLocations, .location_count = 1})};

// ---- the image ----

template <int kVariants>
constexpr kdl_kernel Kernel(const char* name, const kdl_variant (&variants)[kVariants]) {
  return {name, variants, kVariants, 0};
}

constexpr kdl_kernel kKernels[] = {Kernel("saxpy", kSaxpy),
                                   Kernel("mark", kMark),
                                   Kernel("row_sums", kRowSums),
                                   Kernel("matmul", kMatmul),
                                   Kernel("quads", kQuads),
                                   Kernel("halve", kHalve),
                                   Kernel("scalars", kScalars),
                                   Kernel("many", kMany),
                                   Kernel("trap_at", kTrapAt),
                                   Kernel("exchange", kExchange),
                                   Kernel("endless", kEndless),
                                   Kernel("dynamic_counter", kDynamicCounter),
                                   Kernel("scratch", kScratch),
                                   Kernel("workspace", kWorkspace),
                                   Kernel("slices", kSlices),
                                   Kernel("print", kPrint),
                                   Kernel("busy_slices", kBusySlices),
                                   Kernel("spin", kSpin)};

constexpr kdl_image kImage = {.size = sizeof(kdl_image),
                              .version = KDL_ABI_VERSION,
                              .abi_hash = KDL_ABI_HASH,
                              .module = "suite",
                              .compiler = "the suite",
                              .kind = "host",
                              .arch = "",
                              .kernels = kKernels,
                              .payload = nullptr,
                              .payload_bytes = 0,
                              .kernel_count = std::size(kKernels),
                              .is_packed = 0};

}  // namespace

const kdl_image* const kImages[] = {&kImage, nullptr};

}  // namespace kdl::conformance
