#include "core/binding_parts.h"

#include <algorithm>

#include "core/element.h"
#include "core/pack_ranks.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;

std::int64_t RoundUp(std::int64_t bytes) { return (bytes + kAlignment - 1) & -kAlignment; }

// Whether the byte ranges of two tensors meet. Most tensors are apart, and then nothing else need be checked.
bool RangesMeet(const Binding& binding, std::size_t a, std::size_t b) {
  const auto a_start = reinterpret_cast<std::uintptr_t>(binding.tensors[a].data);
  const auto b_start = reinterpret_cast<std::uintptr_t>(binding.tensors[b].data);
  return a_start < b_start + static_cast<std::uintptr_t>(binding.spans[b]) &&
         b_start < a_start + static_cast<std::uintptr_t>(binding.spans[a]);
}

Error CheckOverlaps(const kdl_variant& variant, const Binding& binding) {
  if (!DoWrittenRangesMeet(binding)) return nullptr;
  std::size_t a = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& written = variant.params[p];
    if (written.is_tensor == 0) continue;
    const std::size_t of_written = a++;
    if (written.direction == KDL_IN) continue;
    std::size_t b = 0;
    for (std::int32_t q = 0; q < variant.param_count; ++q) {
      const kdl_param_desc& other = variant.params[q];
      if (other.is_tensor == 0) continue;
      const std::size_t of_other = b++;
      if (q == p || (q < p && other.direction != KDL_IN)) continue;
      if (RangesMeet(binding, of_written, of_other) &&
          Overlap(binding.tensors[of_written], binding.tensors[of_other])) {
        return Invalid("the tensors for ", Spelling(written), " and ", Spelling(other),
                       " share memory, but ", written.name, " is ",
                       written.direction == KDL_OUT ? "out" : "inout",
                       "; a written tensor must not overlap another parameter");
      }
    }
  }
  return nullptr;
}

// Returns an error that names the parameter from which the size got its value, and the parameter `p` that
// gives it another value in dimension `d`.
Error SizesDiffer(const kdl_variant& variant, std::int64_t first, std::int32_t p, std::int32_t d,
                  std::int64_t second) {
  const std::int32_t symbol = variant.params[p].dim_symbol[d];
  for (std::int32_t q = 0; q <= p; ++q) {
    const kdl_param_desc& source = variant.params[q];
    for (std::int32_t e = 0; source.is_tensor != 0 && e < source.rank; ++e) {
      if (source.dim_symbol[e] != symbol) continue;
      return Invalid("size ", variant.dims[symbol], " is ", first, " from ", Spelling(source),
                     " dimension ", e, ", but ", Spelling(variant.params[p]), " dimension ", d,
                     " is ", second);
    }
  }
  return nullptr;  // not reached: the parameter itself has this size
}

Error BindSizes(const kdl_variant& variant, Binding* binding) {
  constexpr std::int64_t kUnknown = -1;
  const auto count = static_cast<std::size_t>(variant.dim_count);
  auto& dims = binding->dims;
  dims.Reserve(count);
  while (dims.size() < count) dims.Add(kUnknown);
  const kdl_tensor* tensor = binding->tensors.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = *tensor++;
    for (std::int32_t d = 0; d < param.rank; ++d) {
      if (param.dim_symbol[d] < 0) continue;
      std::int64_t& known = dims[static_cast<std::size_t>(param.dim_symbol[d])];
      const std::int64_t size = view.size[d];
      if (known != kUnknown && known != size) return SizesDiffer(variant, known, p, d, size);
      known = size;
    }
  }
  for (std::size_t symbol = 0; symbol < count; ++symbol) {
    if (dims[symbol] != kUnknown) continue;
    dims[symbol] = 0;
    if (variant.check == nullptr) {
      return Fail(KDL_ERROR_INTERNAL, "no parameter gives size ", variant.dims[symbol],
                  " and the kernel has no check to compute it");
    }
  }
  return nullptr;
}

Error SizeWorkspace(const Device& device, Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  binding->instances = InstancesOf(device, binding->busy_cores);
  binding->slice_bytes = SliceBytes(variant);
  if (variant.shared_bytes != nullptr) {
    binding->shared_bytes = variant.shared_bytes(&binding->args, binding->core_num);
  }
  std::int64_t bytes = 0;
  if (binding->shared_bytes < 0 || binding->shared_bytes > INT64_MAX - kAlignment ||
      __builtin_mul_overflow(binding->slice_bytes, binding->instances, &bytes) ||
      __builtin_add_overflow(bytes, RoundUp(binding->shared_bytes), &bytes)) {
    return Invalid("its workspace for ", binding->core_num,
                   " cores would have a negative size, or 2^63 bytes or more");
  }
  binding->shared_bytes = RoundUp(binding->shared_bytes);
  binding->workspace_bytes = bytes;
  return nullptr;
}

// Checks that no known size exceeds the limit.
Error CheckSizes(const kdl_variant& variant, const Binding& binding) {
  for (std::size_t symbol = 0; symbol < binding.dims.size(); ++symbol) {
    if (binding.dims[symbol] <= KDL_LARGEST_SIZE) continue;
    return Invalid("size ", variant.dims[symbol], " is ", binding.dims[symbol], "; the maximum is ",
                   KDL_LARGEST_SIZE);
  }
  return nullptr;
}

// Computes the number of cores of a launch that states none. Callers may have allocated the workspace for the
// number of the device's facts (see kdl_device_instances), so kernels that need one do not use more cores.
Error ChooseCores(Device& device, const Binding& binding, std::int64_t* core_num) {
  const Candidate& candidate = binding.candidate;
  const kdl_variant& variant = *candidate.variant;
  *core_num = device.facts().cores;
  if (device.ops().cores == nullptr || variant.busy_cores == nullptr) return nullptr;
  void* module = nullptr;
  KDL_RETURN_IF_ERROR(device.FindModule(*candidate.image, &module));
  const std::int64_t chosen = device.ops().cores(device.state(), module, &variant, &binding.args);
  if (chosen > 0 && (variant.footprint_bytes == 0 || chosen < *core_num)) *core_num = chosen;
  return nullptr;
}

// Whether the variant's constants, such as "T=f32, bias=0", give this value to the parameter's name. Only the name of an
// optional parameter is also that of a constant.
bool HasConstant(const kdl_variant& variant, const kdl_param_desc& param, const char* value) {
  const std::string all = Concat(", ", variant.constants, ",");
  return all.find(Concat(", ", param.name, value, ",")) != std::string::npos;
}

}  // namespace

std::string Spelling(const kdl_param_desc& param) { return Concat(param.name, param.shape); }

std::string ParameterType(const kdl_param_desc& param) {
  return Concat(param.name, ": ", ElementName(param.element), param.shape);
}

bool IsShapeMark(const kdl_variant& variant, std::string_view constant) {
  const std::string_view name = constant.substr(0, constant.find('='));
  return IsRankOfPack(variant, constant) ||
         std::any_of(variant.params, variant.params + variant.param_count,
                     [&](const kdl_param_desc& param) {
                       return name == Concat("strides_", param.name) ||
                              name == Concat("broadcast_", param.name);
                     });
}

std::string Signature(const kdl_variant& variant) {
  std::string text = "(";
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (IsAbsent(variant, variant.params[p])) continue;
    text += Concat(text.size() == 1 ? "" : ", ", ParameterType(variant.params[p]));
  }
  text += ')';
  const char* before = " with ";
  for (const std::string_view constant : ConstantsOf(variant)) {
    if (IsShapeMark(variant, constant)) continue;
    text += Concat(before, constant);
    before = ", ";
  }
  return text;
}

bool IsOptional(const kdl_variant& variant, const kdl_param_desc& param) {
  return HasConstant(variant, param, "=0") || HasConstant(variant, param, "=1");
}

bool IsAbsent(const kdl_variant& variant, const kdl_param_desc& param) {
  // All sizes of an absent parameter are 0, which most variants exclude without a search of their constants.
  if (param.rank == 0) return false;
  for (std::int32_t d = 0; d < param.rank; ++d)
    if (param.dim_symbol[d] != KDL_DIM_CONST || param.dim_const[d] != 0) return false;
  return HasConstant(variant, param, "=0");
}

std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits) {
  const int width = FactsOfElement(element)->bits;
  const std::uint64_t value = width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  return element == KDL_BOOL && value != 0 ? 1 : value;
}

Error FindSizes(Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  KDL_RETURN_IF_ERROR(BindSizes(variant, binding));
  return CheckSizes(variant, *binding);
}

Error RunLaunchCheck(Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  binding->args = {.size = sizeof(kdl_args),
                   .version = KDL_ABI_VERSION,
                   .dims = binding->dims.data(),
                   .tensors = binding->tensors.data(),
                   .scalars = binding->scalars.data()};
  if (variant.check == nullptr) return nullptr;
  kdl_trap trap;
  ClearTrap(&trap);
  if (variant.check(binding->dims.data(), &binding->args, &trap) != KDL_DONE) {
    return Error(kdl_error_from_trap(binding->candidate.kernel, &variant, &trap));
  }
  // Checks the sizes again, now including those that the `where` clause determines.
  return CheckSizes(variant, *binding);
}

Error Settle(Device& device, std::int64_t core_num, Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  const bool is_auto = core_num == KDL_CORES_AUTO;
  if (!is_auto) KDL_RETURN_IF_ERROR(CheckCores(core_num));
  KDL_RETURN_IF_ERROR(FindSizes(binding));
  KDL_RETURN_IF_ERROR(CheckOverlaps(variant, *binding));
  KDL_RETURN_IF_ERROR(RunLaunchCheck(binding));
  if (is_auto) {
    KDL_RETURN_IF_ERROR(ChooseCores(device, *binding, &core_num));
    KDL_RETURN_IF_ERROR(CheckCores(core_num));
  }
  binding->core_num = core_num;
  binding->busy_cores = core_num;
  if (variant.busy_cores != nullptr) binding->busy_cores = BusyCores(variant, *binding);
  return SizeWorkspace(device, binding);
}

Error CheckCores(std::int64_t core_num) {
  if (core_num < 1) return Invalid("core_num is ", core_num, "; a launch runs on 1 core or more");
  if (core_num <= KDL_LARGEST_SIZE) return nullptr;
  return Invalid("core_num is ", core_num, "; a launch runs on at most ", KDL_LARGEST_SIZE,
                 " cores");
}

bool DoWrittenRangesMeet(const Binding& binding) {
  const kdl_variant& variant = *binding.candidate.variant;
  std::size_t written = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (variant.params[p].is_tensor == 0) continue;
    if (variant.params[p].direction != KDL_IN) {
      for (std::size_t other = 0; other < binding.tensors.size(); ++other) {
        if (other != written && RangesMeet(binding, written, other)) return true;
      }
    }
    ++written;
  }
  return false;
}

Error CheckOwnElements(const kdl_param_desc& param, const kdl_tensor& view) {
  if (!OverlapsItself(view)) return nullptr;
  return Invalid("the tensor for ", Spelling(param),
                 ", which is written, has elements that share memory; its strides must keep all "
                 "elements apart");
}

Error CheckWrittenApart(const Binding& binding) {
  const kdl_variant& variant = *binding.candidate.variant;
  const kdl_tensor* view = binding.tensors.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    if (param.direction != KDL_IN) KDL_RETURN_IF_ERROR(CheckOwnElements(param, *view));
    ++view;
  }
  return CheckOverlaps(variant, binding);
}

std::int64_t BusyCores(const kdl_variant& variant, const Binding& binding) {
  // Count at least one core: the first core always does some work before it finds that it has no blocks.
  const std::int64_t busy = std::max<std::int64_t>(variant.busy_cores(&binding.args), 1);
  return std::min(busy, binding.core_num);
}

Error OfLaunch(std::string_view name, Error error) {
  if (error == nullptr || kdl_error_code(error.get()) == KDL_ERROR_TRAP) return error;
  return Prefixed(Concat("launch of '", name, "': "), std::move(error));
}

void Binding::KeepBuffers() {
  for (Buffer* buffer : buffers)
    if (buffer != nullptr) buffer->Retain();
  keeps_buffers = true;
}

void Binding::DropBuffers() {
  if (keeps_buffers) {
    for (Buffer* buffer : buffers)
      if (buffer != nullptr) buffer->Release();
  }
  buffers.Clear();
}

std::int64_t InstancesOf(const Device& device, std::int64_t core_num) {
  if (core_num == KDL_CORES_AUTO) core_num = device.facts().cores;
  const std::int64_t resident = device.facts().resident;
  return std::max<std::int64_t>(resident == 0 ? core_num : std::min(core_num, resident), 0);
}

std::int64_t SliceBytes(const kdl_variant& variant) { return RoundUp(variant.footprint_bytes); }

}  // namespace kdl::runtime
