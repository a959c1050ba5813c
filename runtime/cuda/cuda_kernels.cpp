#include "cuda/cuda_kernels.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "cuda/cuda_facts.h"

namespace kdl::runtime {

namespace {

// Loads the image's machine code, if it has any for this GPU. Returns false if the PTX must be compiled
// instead.
bool LoadMachineCode(const CudaDevice& cuda, const kdl_image& image, std::string_view payload,
                     cu::ModuleId* id) {
  const std::size_t end = payload.find('\0');
  if (end == std::string_view::npos || !CudaRunsMachineCode(cuda.compute_level, image.arch))
    return false;
  const std::string code(payload.substr(end + 1));  // a copy is aligned
  return cuda.api.ModuleLoadDataEx(id, code.data(), 0, nullptr, nullptr) == cu::kSuccess;
}

Error MakeModule(CudaDevice& cuda, const kdl_image& image, std::unique_ptr<CudaModule>* loaded) {
  KDL_RETURN_IF_ERROR(cuda.lost.Told());
  const CurrentContext current(cuda.api, cuda.context);
  auto module = std::make_unique<CudaModule>();
  const std::string_view payload(static_cast<const char*>(image.payload),
                                 static_cast<std::size_t>(image.payload_bytes));
  module->text = payload.substr(0, payload.find('\0'));
  if (LoadMachineCode(cuda, image, payload, &module->id)) {
    *loaded = std::move(module);
    return nullptr;
  }
  const std::string text(module->text);
  std::string log(8 << 10, '\0');
  int keys[] = {cu::kErrorLog, cu::kErrorLogBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  const cu::Status status = cuda.api.ModuleLoadDataEx(&module->id, text.c_str(), 2, keys, values);
  if (IsLost(status)) return cuda.Failed(Concat("loading module ", image.module), status);
  if (status != cu::kSuccess) {
    return Fail(KDL_ERROR_DEVICE, "the driver of ", cuda.name, " rejects the kernels of module '",
                image.module, "': ", cuda.api.StatusName(status), "\n", log.c_str());
  }
  *loaded = std::move(module);
  return nullptr;
}

// Reads the kernel's requirements for launches (see workgroup_abi.h) from its PTX module, if the module
// contains any.
Error ReadNeeds(CudaDevice& cuda, cu::ModuleId module, const char* name,
                std::vector<std::int64_t>* needs) {
  cu::Address address = 0;
  std::size_t bytes = 0;
  cu::Status status =
      cuda.api.ModuleGetGlobal_v2(&address, &bytes, module, Concat(name, "_launch").c_str());
  if (status == cu::kNotFound) return nullptr;
  needs->resize(bytes / sizeof(std::int64_t));
  const CudaWork work(cuda);
  if (status == cu::kSuccess) status = work.status();
  if (status == cu::kSuccess) {
    status = work.Copy(
        {DeviceSide(reinterpret_cast<const void*>(address)), HostSide(needs->data()), bytes, 1});
  }
  if (status == cu::kSuccess) status = work.Wait();
  return status == cu::kSuccess
             ? nullptr
             : cuda.Failed(Concat("reading the requirements of kernel ", name), status);
}

// Requests workgroup memory for a kernel that needs more than the default.
Error ReserveWorkgroupMemory(CudaDevice& cuda, const char* name, const CudaKernel& kernel) {
  const std::int64_t bytes = kernel.needs.front().workgroup_bytes;
  const int most = cuda.Attribute(cu::kMostWorkgroup);
  if (bytes > most) {
    return Fail(KDL_ERROR_DEVICE, "kernel ", name, " needs ", bytes,
                " bytes of shared memory, but a block on ", cuda.name, " has ", most);
  }
  const cu::Status status =
      cuda.api.FuncSetAttribute(kernel.function, cu::kWorkgroupBytes, static_cast<int>(bytes));
  return status == cu::kSuccess ? nullptr : cuda.Failed("asking for shared memory", status);
}

// Reads the needs of launches of some sizes, which start at number `at`.
std::vector<WorkgroupNeed> NeedsOfSizes(const std::vector<std::int64_t>& numbers, std::size_t at) {
  std::vector<WorkgroupNeed> needs;
  while (at + 2 <= numbers.size()) {
    WorkgroupNeed need{numbers[at]};
    const auto count = static_cast<std::size_t>(numbers[at + 1]);
    at += 2;
    for (std::size_t i = 0; i < count && at + 3 <= numbers.size(); ++i, at += 3)
      need.ranges.push_back({numbers[at], numbers[at + 1], numbers[at + 2]});
    needs.push_back(std::move(need));
  }
  return needs;
}

Error TakeNeeds(CudaDevice& cuda, cu::ModuleId module, const char* name, CudaKernel* kernel) {
  std::vector<std::int64_t> needs;
  KDL_RETURN_IF_ERROR(ReadNeeds(cuda, module, name, &needs));
  if (needs.size() < 2) return nullptr;
  std::size_t at = 2;
  for (std::int64_t map = 0; map < needs[1] && at + 5 <= needs.size(); ++map, at += 5)
    kernel->maps.push_back({needs[at], needs[at + 1], needs[at + 2], needs[at + 3], needs[at + 4]});
  kernel->needs = NeedsOfSizes(needs, at + 1);
  std::sort(kernel->needs.begin(), kernel->needs.end(),
            [](const WorkgroupNeed& a, const WorkgroupNeed& b) {
              return a.workgroup_bytes > b.workgroup_bytes;
            });
  kernel->needs.push_back({needs[0]});
  return ReserveWorkgroupMemory(cuda, name, *kernel);
}

// Whether the kernel may write the reason of a trap: whether its PTX reads the address of its record, which is
// parameter 3. If the parameter has another name than LLVM gives it, it may be read.
bool ReadsRecord(std::string_view text, const char* name) {
  const std::string record = Concat(name, "_param_3");
  return text.find(record) == std::string_view::npos ||
         text.find(Concat("[", record, "]")) != std::string_view::npos;
}

Error MakeKernel(CudaDevice& cuda, cu::ModuleId module, const char* name, CudaKernel* kernel) {
  cu::Status status = cuda.api.ModuleGetFunction(&kernel->function, module, name);
  if (status != cu::kSuccess) return cuda.Failed(Concat("finding kernel ", name), status);
  // The workgroup size of the kernel is declared in PTX as the maximum number of threads per block.
  status = cuda.api.FuncGetAttribute(&kernel->threads, cu::kMostThreads, kernel->function);
  if (status != cu::kSuccess) return cuda.Failed("asking for a kernel's size", status);
  KDL_RETURN_IF_ERROR(TakeNeeds(cuda, module, name, kernel));
  for (WorkgroupNeed& need : kernel->needs) {
    status = cuda.api.OccupancyMaxActiveBlocksPerMultiprocessor(
        &need.resident, kernel->function, kernel->threads,
        static_cast<std::size_t>(need.workgroup_bytes));
    if (status != cu::kSuccess) return cuda.Failed("asking how many blocks fit", status);
  }
  return nullptr;
}

bool IsIn(const SizeRange& range, const std::int64_t* sizes) {
  return range.least <= sizes[range.size] && sizes[range.size] <= range.most;
}

}  // namespace

const WorkgroupNeed& NeedOf(const CudaKernel& kernel, const std::int64_t* sizes) {
  return *std::find_if(
      kernel.needs.begin(), kernel.needs.end() - 1, [&](const WorkgroupNeed& need) {
        return std::all_of(need.ranges.begin(), need.ranges.end(),
                           [&](const SizeRange& range) { return IsIn(range, sizes); });
      });
}

kdl_error* LoadCudaModule(void* device, const kdl_image* image, void** module) {
  std::unique_ptr<CudaModule> loaded;
  if (Error error = MakeModule(CudaDevice::FromHandle(device), *image, &loaded))
    return error.release();
  *module = loaded.release();
  return nullptr;
}

void UnloadCudaModule(void* device, void* loaded) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  const std::unique_ptr<CudaModule> module(static_cast<CudaModule*>(loaded));
  const CurrentContext current(cuda.api, cuda.context);
  cuda.api.ModuleUnload(module->id);
}

Error FindCudaKernel(CudaDevice& cuda, CudaModule& module, const kdl_variant& variant,
                     const CudaKernel** kernel) {
  const std::lock_guard lock(module.mutex);
  auto known = module.kernels.find(&variant);
  if (known == module.kernels.end()) {
    const CurrentContext current(cuda.api, cuda.context);
    CudaKernel made;
    KDL_RETURN_IF_ERROR(MakeKernel(cuda, module.id, variant.symbol, &made));
    made.may_trap = ReadsRecord(module.text, variant.symbol);
    known = module.kernels.emplace(&variant, std::move(made)).first;
  }
  *kernel = &known->second;
  return nullptr;
}

std::int64_t CudaCoresOf(void* device, void* module, const kdl_variant* variant,
                         const kdl_args* args) {
  CudaDevice& cuda = CudaDevice::FromHandle(device);
  const CudaKernel* kernel = nullptr;
  if (cuda.lost.Told() != nullptr) return 0;
  if (FindCudaKernel(cuda, *static_cast<CudaModule*>(module), *variant, &kernel) != nullptr)
    return 0;
  return std::int64_t{cuda.multiprocessors} * std::max(NeedOf(*kernel, args->dims).resident, 1);
}

}  // namespace kdl::runtime
