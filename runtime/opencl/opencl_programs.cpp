#include "opencl/opencl_programs.h"

#include <new>

#include "kdl/abi_hash.h"
#include "kdl/packed_text.hpp"

namespace kdl::runtime {

namespace {

// The suffix of a dummy kernel `…_large`, which replaces a kernel whose tables are too large for the device
// (see codegen/opencl).
constexpr const char* kLarge = "_large";

// Results match those that the language defines only if division and square roots are correctly rounded and
// no operations are fused implicitly.
constexpr const char* kBuildOptions = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";

// Returns the text that the driver's query function `ask` gives for property `what` of an object.
template <class Ask, class Object>
std::string QueryText(const Ask& ask, Object object, std::uint32_t what) {
  std::size_t bytes = 0;
  if (ask(object, what, 0, nullptr, &bytes) != cl::kSuccess) return "";
  std::string text(bytes, '\0');
  if (ask(object, what, bytes, text.data(), nullptr) != cl::kSuccess) return "";
  return text.c_str();
}

// PoCL compiles a kernel when the kernel is launched, and caches the result on disk itself. When asked for a
// program's binary, it compiles all kernels again. Its binaries are therefore stored only if the user names a
// folder for them, and only when the program is destroyed.
bool CompilesLate(std::string_view platform) { return platform == "Portable Computing Language"; }

// Returns the extensions that kernels use but that are not in `extensions`.
std::string ExtensionsLacked(const std::string& extensions) {
  constexpr std::string_view kUsed[] = {"cl_khr_fp64", "cl_khr_int64_base_atomics",
                                        "cl_khr_int64_extended_atomics"};
  const std::string has = Concat(" ", extensions, " ");
  std::string lacked;
  for (const std::string_view extension : kUsed) {
    if (has.find(Concat(" ", extension, " ")) != std::string::npos) continue;
    lacked += Concat(lacked.empty() ? "" : ", ", extension);
  }
  return lacked;
}

}  // namespace

Error OpenclFailure(std::string_view what, std::int32_t status) {
  const bool is_short =
      status == cl::kOutOfDeviceMemory || status == cl::kOutOfHostMemory ||
      status == cl::kInvalidBufferSize;  // the size exceeds the limit on a single allocation
  const kdl_code code = is_short ? KDL_ERROR_OUT_OF_MEMORY : KDL_ERROR_DEVICE;
  return Fail(code, "OpenCL: ", what, " failed: ", cl::ErrorName(status));
}

OpenclPrograms::OpenclPrograms(const cl::Api& api, cl::ContextId context, cl::DeviceId device)
    : api_(api), context_(context), device_(device), cache_("") {
  cl::PlatformId platform = nullptr;
  api.GetDeviceInfo(device, cl::kDevicePlatform, sizeof platform, &platform, nullptr);
  names_ = {
      .platform = QueryText(api.GetPlatformInfo, platform, cl::kPlatformName),
      .platform_version = QueryText(api.GetPlatformInfo, platform, cl::kPlatformVersion),
      .device = QueryText(api.GetDeviceInfo, device, cl::kDeviceName),
      .vendor = QueryText(api.GetDeviceInfo, device, cl::kDeviceVendor),
      .version = QueryText(api.GetDeviceInfo, device, cl::kDeviceVersion),
      .driver = QueryText(api.GetDeviceInfo, device, cl::kDriverVersion),
      .lacked = ExtensionsLacked(QueryText(api.GetDeviceInfo, device, cl::kDeviceExtensions))};
  api.GetDeviceInfo(device, cl::kConstantBytes, sizeof constant_bytes_, &constant_bytes_, nullptr);
  options_ = Concat(kBuildOptions, " -DKDL_CONSTANT_BYTES=", constant_bytes_);
  compiles_late_ = CompilesLate(names_.platform);
  if (!compiles_late_ || DiskCache::IsNamed()) cache_ = DiskCache(DiskCache::UsualFolder());
}

std::string OpenclPrograms::KeyOf(const kdl_image& image) const {
  const std::string_view text(static_cast<const char*>(image.payload),
                              static_cast<std::size_t>(image.payload_bytes));
  return Concat("opencl\n", names_.platform, "\n", names_.platform_version, "\n", names_.device,
                "\n", names_.vendor, "\n", names_.version, "\n", names_.driver, "\n", options_,
                "\n", std::uint64_t{KDL_ABI_HASH}, "\n", text);
}

Error OpenclPrograms::Make(const kdl_image& image, std::unique_ptr<OpenclModule>* made) {
  auto module = std::make_unique<OpenclModule>();
  std::string key = KeyOf(image);
  if (Find(key, &module->program)) {
    ++found_;
  } else {
    KDL_RETURN_IF_ERROR(Compile(image, &module->program));
    ++compiled_;
    if (!compiles_late_) Keep(key, module->program);
    if (compiles_late_ && cache_.keeps()) module->key = std::move(key);
  }
  *made = std::move(module);
  return nullptr;
}

// Loads a program from the cache. Returns false if the cache does not contain the program or the driver no
// longer accepts its binary. In these cases, the program is compiled from its source.
bool OpenclPrograms::Find(const std::string& key, cl::ProgramId* program) const {
  std::string binary;
  if (!cache_.Find(key, &binary)) return false;
  const char* start = binary.data();
  const std::size_t length = binary.size();
  std::int32_t taken = cl::kSuccess;
  std::int32_t status = cl::kSuccess;
  *program = api_.CreateProgramWithBinary(context_, 1, &device_, &length, &start, &taken, &status);
  if (status != cl::kSuccess) return false;
  if (taken == cl::kSuccess &&
      api_.BuildProgram(*program, 1, &device_, options_.c_str(), nullptr, nullptr) == cl::kSuccess)
    return true;
  api_.ReleaseProgram(*program);
  return false;
}

Error OpenclPrograms::Compile(const kdl_image& image, cl::ProgramId* program) const {
  const char* text = static_cast<const char*>(image.payload);
  auto length = static_cast<std::size_t>(image.payload_bytes);
  std::string unpacked;
  if (image.is_packed != 0) {
    if (!UnpackText({text, length}, &unpacked))
      return Fail(KDL_ERROR_INTERNAL, "the text of module '", image.module, "' is damaged");
    text = unpacked.data();
    length = unpacked.size();
  }
  std::int32_t status = cl::kSuccess;
  *program = api_.CreateProgramWithSource(context_, 1, &text, &length, &status);
  if (status != cl::kSuccess)
    return OpenclFailure("creating a program from the kernels' source", status);
  status = api_.BuildProgram(*program, 1, &device_, options_.c_str(), nullptr, nullptr);
  if (status == cl::kSuccess) return nullptr;
  const std::string log =
      QueryText([&](cl::ProgramId built,
                    auto... what) { return api_.GetProgramBuildInfo(built, device_, what...); },
                *program, cl::kBuildLog);
  api_.ReleaseProgram(*program);
  // Drivers that cannot write their cache fail without an error of the compiler.
  const bool has_error = log.find("error") != std::string::npos;
  return Fail(KDL_ERROR_DEVICE, "the driver of ", names_.device, " rejects the kernels of module '",
              image.module, "': ", cl::ErrorName(status), "\n", log,
              has_error ? "" : std::string("if the driver keeps compiled kernels, ") + kCacheHint);
}

void OpenclPrograms::Keep(const std::string& key, cl::ProgramId program) const try {
  if (!cache_.keeps()) return;
  std::size_t bytes = 0;
  if (api_.GetProgramInfo(program, cl::kBinarySizes, sizeof bytes, &bytes, nullptr) !=
          cl::kSuccess ||
      bytes == 0)
    return;
  std::string binary(bytes, '\0');
  char* start = binary.data();
  if (api_.GetProgramInfo(program, cl::kBinaries, sizeof start, &start, nullptr) == cl::kSuccess)
    cache_.Keep(key, binary);
} catch (const std::bad_alloc&) {  // the program is compiled again next time
}

// Returns the error for a kernel that the program does not contain. The source omits kernels that use
// something that the device lacks, and the error says what that is.
Error OpenclPrograms::NoKernel(const OpenclModule& module, const char* name) const {
  std::int32_t status = cl::kSuccess;
  cl::KernelId large = api_.CreateKernel(module.program, Concat(name, kLarge).c_str(), &status);
  if (status == cl::kSuccess) {
    api_.ReleaseKernel(large);
    return Fail(KDL_ERROR_UNSUPPORTED, names_.device, " cannot run kernel ", name,
                ", whose tables need more than the ", constant_bytes_,
                " bytes of constant memory that it has: pass large tables as parameters");
  }
  if (names_.lacked.empty())
    return OpenclFailure(Concat("finding kernel ", name), cl::kInvalidKernelName);
  return Fail(KDL_ERROR_UNSUPPORTED, names_.device, " cannot run kernel ", name,
              ", which uses f64 or 64-bit atomic updates: it does not support ", names_.lacked);
}

Error OpenclPrograms::FindKernel(OpenclModule& module, const char* name,
                                 cl::KernelId* kernel) const {
  auto known = module.kernels.find(name);
  if (known == module.kernels.end()) {
    std::int32_t status = cl::kSuccess;
    cl::KernelId made = api_.CreateKernel(module.program, name, &status);
    if (status == cl::kInvalidKernelName) return NoKernel(module, name);
    if (status != cl::kSuccess) return OpenclFailure(Concat("finding kernel ", name), status);
    known = module.kernels.emplace(name, made).first;
  }
  *kernel = known->second;
  return nullptr;
}

void OpenclPrograms::End(OpenclModule& module) const {
  if (!module.key.empty()) Keep(module.key, module.program);
  for (const auto& [name, kernel] : module.kernels) api_.ReleaseKernel(kernel);
  api_.ReleaseProgram(module.program);
}

}  // namespace kdl::runtime
