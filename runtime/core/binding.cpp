#include "core/binding.h"

#include <algorithm>

#include "core/binding_parts.h"
#include "core/element.h"
#include "core/handles.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

using Args = std::span<const kdl_arg>;

constexpr std::int64_t kAlignment = KDL_SCRATCH_ALIGNMENT;

std::int64_t RoundUp(std::int64_t bytes) { return (bytes + kAlignment - 1) & -kAlignment; }

// "a: f32[M, K]".
std::string TypeOf(const kdl_param_desc& param) {
  return Concat(param.name, ": ", ElementName(param.element), param.shape);
}

std::string Signature(const kdl_variant& variant) {
  std::string text = "(";
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    text += Concat(p == 0 ? "" : ", ", TypeOf(variant.params[p]));
  }
  text += ')';
  if (!std::string_view(variant.constants).empty()) text += Concat(" with ", variant.constants);
  return text;
}

// Neither an array nor a scalar: what a caller gave as an array.
bool IsNull(const kdl_arg& arg) { return arg.array == nullptr && arg.element == 0; }

std::string DescribeArgument(const kdl_arg& arg) {
  if (IsNull(arg)) return "NULL";
  return arg.array == nullptr ? std::string(ElementName(arg.element)) : Describe(arg.array->view);
}

// How far a variant is from fitting; the larger the kind, the nearer.
enum class Fit { kCount, kTensor, kRank, kElement, kSize, kFits };

struct Match {
  Fit fit;
  std::int32_t param = 0;
  std::int32_t dimension = 0;
};

Match MatchParam(const kdl_param_desc& param, const kdl_arg& arg) {
  if ((param.is_tensor != 0) != (arg.array != nullptr)) return {Fit::kTensor};
  if (arg.array == nullptr) return {arg.element == param.element ? Fit::kFits : Fit::kElement};
  const kdl_tensor& view = arg.array->view;
  if (view.rank != param.rank) return {Fit::kRank};
  if (view.element != param.element) return {Fit::kElement};
  for (std::int32_t d = 0; d < param.rank; ++d) {
    if (param.dim_symbol[d] == KDL_DIM_CONST && view.size[d] != param.dim_const[d]) {
      return {Fit::kSize, 0, d};
    }
  }
  return {Fit::kFits};
}

Match MatchVariant(const kdl_variant& variant, Args args) {
  if (variant.param_count != static_cast<std::int32_t>(args.size())) return {Fit::kCount};
  Match worst = {Fit::kFits};
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    Match match = MatchParam(variant.params[p], args[static_cast<std::size_t>(p)]);
    match.param = p;
    if (match.fit < worst.fit) worst = match;
  }
  return worst;
}

Error Mismatch(const kdl_variant& variant, const Match& match, Args args) {
  if (match.fit == Fit::kCount) {
    std::vector<std::string> names;
    for (std::int32_t p = 0; p < variant.param_count; ++p) names.push_back(variant.params[p].name);
    return Invalid(args.size(), args.size() == 1 ? " argument is" : " arguments are",
                   " given, but it takes ", variant.param_count, names.empty() ? "" : ": ",
                   JoinWords(names));
  }
  const kdl_param_desc& param = variant.params[match.param];
  const kdl_arg& arg = args[static_cast<std::size_t>(match.param)];
  const std::string given = DescribeArgument(arg);
  switch (match.fit) {
    case Fit::kTensor:
      if (IsNull(arg))
        return Invalid("parameter ", TypeOf(param), " is a tensor, and NULL is given");
      return arg.array == nullptr ? Invalid("parameter ", TypeOf(param),
                                            " is a tensor, but a scalar (", given, ") is given")
                                  : Invalid("parameter ", TypeOf(param),
                                            " is a scalar, but a tensor (", given, ") is given");
    case Fit::kRank:
      return Invalid("parameter ", TypeOf(param), " has ", param.rank,
                     param.rank == 1 ? " dimension" : " dimensions", ", but the tensor given, ",
                     given, ", has ", arg.array->view.rank);
    case Fit::kSize:
      return Invalid("dimension ", match.dimension, " of ", Spelling(param), " is ",
                     param.dim_const[match.dimension], ", but the tensor given is ", given);
    default:
      return Invalid("parameter ", TypeOf(param), " takes ", ElementName(param.element), ", but ",
                     given, " is given");
  }
}

Error NoVariant(const kdl_variant& near, const std::vector<std::string>& signatures, Args args) {
  std::string text = "no variant takes (";
  for (std::size_t p = 0; p < args.size(); ++p) {
    text += Concat(p == 0 ? "" : ", ", near.params[p].name, ": ", DescribeArgument(args[p]));
  }
  text += "); there are";
  for (const std::string& signature : signatures) {
    text += Concat(&signature == &signatures.front() ? " " : "; ", signature);
  }
  return Invalid(text);
}

// Why none fits.
Error NoneFits(std::span<const Candidate> candidates, Args args) {
  Match nearest = {Fit::kCount};
  const kdl_variant* near = nullptr;
  std::vector<std::string> signatures;
  for (const Candidate& candidate : candidates) {
    const Match match = MatchVariant(*candidate.variant, args);
    if (near == nullptr || match.fit > nearest.fit) {
      nearest = match;
      near = candidate.variant;
    }
    const std::string signature = Signature(*candidate.variant);
    if (std::find(signatures.begin(), signatures.end(), signature) == signatures.end()) {
      signatures.push_back(signature);
    }
  }
  const bool is_choice = signatures.size() > 1 && nearest.fit >= Fit::kElement;
  return is_choice ? NoVariant(*near, signatures, args) : Mismatch(*near, nearest, args);
}

// The first variant that fits.
Error PickVariant(std::span<const Candidate> candidates, Args args, Candidate* picked) {
  for (const Candidate& candidate : candidates) {
    if (MatchVariant(*candidate.variant, args).fit != Fit::kFits) continue;
    *picked = candidate;
    return nullptr;
  }
  return NoneFits(candidates, args);
}

Error CheckTensor(const kdl_param_desc& param, const kdl_array& array, const Device& device) {
  if (CheckArray(array, "") != nullptr) {  // again, in words, which cost memory
    return CheckArray(array, Concat("the tensor for ", Spelling(param)));
  }
  const Buffer& buffer = *Unwrap(array.buffer);
  if (&buffer.device().scheduler() != &device.scheduler()) {
    return Invalid("the tensor for ", Spelling(param), " is ", Describe(buffer),
                   " of another context than the queue's");
  }
  if (!device.SharesMemoryWith(buffer.device())) {
    return Invalid("the tensor for ", Spelling(param), " is ", Describe(buffer),
                   ", but the launch is on ", device.uri(), "; copy it there first");
  }
  const kdl_tensor& view = array.view;
  const std::int32_t last = view.rank - 1;
  if (last >= 0 && view.size[last] > 1 && view.stride[last] != 1 && !IsEmpty(view)) {
    return Invalid("the tensor for ", Spelling(param), " has stride ", view.stride[last],
                   " in its last dimension; it must be 1");
  }
  if (param.direction != KDL_IN && buffer.is_constant())
    return CheckWritable(buffer, Concat("the tensor for ", Spelling(param)));
  if (param.direction != KDL_IN && OverlapsItself(view)) {
    return Invalid("the tensor for ", Spelling(param),
                   ", which is written, has indices that share memory; its strides must keep all "
                   "elements apart");
  }
  return nullptr;
}

Error CheckTensors(const kdl_variant& variant, Args args, const Device& device) {
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_array* array = args[static_cast<std::size_t>(p)].array;
    if (array != nullptr) KDL_RETURN_IF_ERROR(CheckTensor(variant.params[p], *array, device));
  }
  return nullptr;
}

Error CheckOverlaps(const kdl_variant& variant, const Binding& binding) {
  const kdl_tensor* a = binding.tensors.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& written = variant.params[p];
    if (written.is_tensor == 0) continue;
    const kdl_tensor& of_written = *a++;
    if (written.direction == KDL_IN) continue;
    const kdl_tensor* b = binding.tensors.begin();
    for (std::int32_t q = 0; q < variant.param_count; ++q) {
      const kdl_param_desc& other = variant.params[q];
      if (other.is_tensor == 0) continue;
      const kdl_tensor& of_other = *b++;
      if (q == p || (q < p && other.direction != KDL_IN)) continue;
      if (Overlap(of_written, of_other)) {
        return Invalid("the tensors for ", Spelling(written), " and ", Spelling(other),
                       " share memory, but ", written.name, " is ",
                       written.direction == KDL_OUT ? "out" : "inout",
                       "; what is written may overlap no other parameter");
      }
    }
  }
  return nullptr;
}

// Where a size got its value; a negative parameter: nowhere yet.
struct Source {
  std::int32_t param;
  std::int32_t dimension;
};

Error BindSizes(const kdl_variant& variant, Binding* binding) {
  const auto count = static_cast<std::size_t>(variant.dim_count);
  SmallArray<Source, 16> sources;
  sources.Reserve(count);
  auto& dims = binding->dims;
  dims.Reserve(count);
  while (dims.size() < count) {
    dims.Add(0);
    sources.Add({-1, 0});
  }
  const kdl_tensor* tensor = binding->tensors.begin();
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    if (param.is_tensor == 0) continue;
    const kdl_tensor& view = *tensor++;
    for (std::int32_t d = 0; d < param.rank; ++d) {
      if (param.dim_symbol[d] < 0) continue;
      const auto symbol = static_cast<std::size_t>(param.dim_symbol[d]);
      const std::int64_t size = view.size[d];
      const Source source = sources[symbol];
      if (source.param < 0) {
        sources[symbol] = {p, d};
        dims[symbol] = size;
      } else if (dims[symbol] != size) {
        return Invalid("size ", variant.dims[symbol], " is ", dims[symbol], " from ",
                       Spelling(variant.params[source.param]), " dimension ", source.dimension,
                       ", but ", Spelling(param), " dimension ", d, " is ", size);
      }
    }
  }
  for (std::size_t symbol = 0; symbol < sources.size(); ++symbol) {
    if (sources[symbol].param < 0 && variant.check == nullptr) {
      return Fail(KDL_ERROR_INTERNAL, "no parameter gives size ", variant.dims[symbol],
                  " and the kernel has no check to compute it");
    }
  }
  return nullptr;
}

// As kernels take it: all dimensions are there. Field by field, which is faster than the copy of so large a struct.
void TakeView(const kdl_tensor& from, kdl_tensor* view) {
  view->data = from.data;
  view->rank = from.rank;
  view->element = from.element;
  view->reserved0 = from.reserved0;
  view->element_bits = from.element_bits;
  view->layout = from.layout;
  view->reserved1 = from.reserved1;
  for (std::int32_t d = 0; d < KDL_MAX_RANK; ++d) {
    const bool is_dimension = d < from.rank;
    view->size[d] = is_dimension ? from.size[d] : 1;
    view->stride[d] = is_dimension ? from.stride[d] : 0;
  }
  // A single element has no stride of its own: kernels count on 1.
  if (from.rank > 0 && from.size[from.rank - 1] <= 1) view->stride[from.rank - 1] = 1;
}

void TakeArguments(const kdl_variant& variant, Args args, Binding* binding) {
  binding->scalars.Reserve(args.size());
  binding->tensors.Reserve(args.size());
  binding->memories.Reserve(args.size());
  binding->buffers.Reserve(args.size());
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_arg& arg = args[static_cast<std::size_t>(p)];
    if (arg.array == nullptr) {
      binding->scalars.Add(TakeScalar(arg.element, arg.bits));
      continue;
    }
    TakeView(arg.array->view, &binding->tensors.Add());
    Buffer* buffer = Unwrap(arg.array->buffer);
    binding->memories.Add(buffer->memory());
    binding->buffers.Add(buffer);
  }
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

// Those that are known by now.
Error CheckSizes(const kdl_variant& variant, const Binding& binding) {
  for (std::size_t symbol = 0; symbol < binding.dims.size(); ++symbol) {
    if (binding.dims[symbol] <= KDL_LARGEST_SIZE) continue;
    return Invalid("size ", variant.dims[symbol], " is ", binding.dims[symbol], "; the largest is ",
                   KDL_LARGEST_SIZE);
  }
  return nullptr;
}

Error BindUnprefixed(const Function& function, Device& device, std::int64_t core_num, Args args,
                     Binding* binding) {
  if (&function.registry() != &device.registry()) {
    return Invalid("the kernel was found in another context than the queue's");
  }
  if (core_num < 1) {
    return Invalid("core_num is ", core_num, "; a launch runs on 1 core or more");
  }
  if (core_num > KDL_LARGEST_SIZE) {
    return Invalid("core_num is ", core_num, "; a launch runs on at most ", KDL_LARGEST_SIZE,
                   " cores");
  }
  std::span<const Candidate> candidates;
  KDL_RETURN_IF_ERROR(function.FindCandidates(device, &candidates));
  KDL_RETURN_IF_ERROR(PickVariant(candidates, args, &binding->candidate));
  const kdl_variant& variant = *binding->candidate.variant;
  KDL_RETURN_IF_ERROR(CheckTensors(variant, args, device));
  TakeArguments(variant, args, binding);
  return Settle(device, core_num, binding);
}

}  // namespace

std::string Spelling(const kdl_param_desc& param) { return Concat(param.name, param.shape); }

std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits) {
  const int width = FactsOfElement(element)->bits;
  const std::uint64_t value = width == 64 ? bits : bits & ((std::uint64_t{1} << width) - 1);
  return element == KDL_BOOL && value != 0 ? 1 : value;
}

Error Settle(Device& device, std::int64_t core_num, Binding* binding) {
  const kdl_variant& variant = *binding->candidate.variant;
  KDL_RETURN_IF_ERROR(BindSizes(variant, binding));
  KDL_RETURN_IF_ERROR(CheckSizes(variant, *binding));
  KDL_RETURN_IF_ERROR(CheckOverlaps(variant, *binding));
  binding->core_num = core_num;
  binding->args = {.size = sizeof(kdl_args),
                   .version = KDL_ABI_VERSION,
                   .dims = binding->dims.data(),
                   .tensors = binding->tensors.data(),
                   .scalars = binding->scalars.data()};
  if (variant.check != nullptr) {
    kdl_trap trap = {};
    if (variant.check(binding->dims.data(), &binding->args, &trap) != KDL_DONE) {
      return Error(kdl_error_from_trap(binding->candidate.kernel, &variant, &trap));
    }
    KDL_RETURN_IF_ERROR(CheckSizes(variant, *binding));  // what `where` gives
  }
  binding->busy_cores = core_num;
  if (variant.busy_cores != nullptr) {
    // The first one does what all would do before they find that they have no blocks.
    const std::int64_t busy = std::max<std::int64_t>(variant.busy_cores(&binding->args), 1);
    binding->busy_cores = std::min(busy, core_num);
  }
  return SizeWorkspace(device, binding);
}

Error OfLaunch(std::string_view name, Error error) {
  if (error == nullptr || kdl_error_code(error.get()) == KDL_ERROR_TRAP) return error;
  return Prefixed(Concat("launch of '", name, "': "), std::move(error));
}

void Binding::KeepBuffers() {
  for (Buffer* buffer : buffers) buffer->Retain();
  keeps_buffers = true;
}

void Binding::DropBuffers() {
  if (keeps_buffers) {
    for (Buffer* buffer : buffers) buffer->Release();
  }
  buffers.Clear();
}

std::int64_t InstancesOf(const Device& device, std::int64_t core_num) {
  if (core_num == KDL_CORES_AUTO) core_num = device.facts().cores;
  const std::int64_t resident = device.facts().resident;
  return std::max<std::int64_t>(resident == 0 ? core_num : std::min(core_num, resident), 0);
}

std::int64_t SliceBytes(const kdl_variant& variant) { return RoundUp(variant.footprint_bytes); }

Error CheckArray(const kdl_array& array, std::string_view what) {
  if (array.buffer == nullptr) return Invalid(what, " has no buffer");
  if (!IsOurs(array.buffer)) return Invalid(what, kForeign);
  std::int64_t bytes = 0;
  KDL_RETURN_IF_ERROR(CheckView(array.view, what, &bytes));
  if (bytes == 0) return nullptr;
  KDL_RETURN_IF_ERROR(CheckAddress(array.view, what));
  const Buffer& buffer = *Unwrap(array.buffer);
  const std::int64_t offset = OffsetInBuffer(array);
  if (offset < 0 || bytes > buffer.bytes() || offset > buffer.bytes() - bytes) {
    return Invalid(what, " is ", Describe(array.view), " at byte ", offset, " of ",
                   Describe(buffer), ", which has ", buffer.bytes(), " bytes; it needs ", bytes);
  }
  return nullptr;
}

std::int64_t OffsetInBuffer(const kdl_array& array) {
  const auto base = reinterpret_cast<std::uintptr_t>(Unwrap(array.buffer)->memory().address);
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(array.view.data) - base);
}

Error CheckWorkspace(const Binding& binding, const Device& device, const Buffer& workspace) {
  const std::string start = Concat("its workspace, ", Describe(workspace), ", ");
  if (&workspace.device().scheduler() != &device.scheduler()) {
    return Invalid(start, "is of another context than the queue");
  }
  if (!device.SharesMemoryWith(workspace.device()))
    return Invalid(start, "must live on ", device.uri());
  KDL_RETURN_IF_ERROR(CheckWritable(workspace, "its workspace"));
  const kdl_variant& variant = *binding.candidate.variant;
  std::size_t tensor = 0;
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    if (variant.params[p].is_tensor == 0) continue;
    if (Overlap(WholeOf(workspace), binding.tensors[tensor++])) {
      return Invalid(start, "shares memory with the tensor for ", Spelling(variant.params[p]),
                     "; it must be memory of its own");
    }
  }
  const std::int64_t slices = binding.workspace_bytes - binding.shared_bytes;
  if (workspace.bytes() >= slices) return nullptr;
  return Invalid(start, "has ", workspace.bytes(), " bytes; it needs ", slices);
}

Error Bind(const Function& function, Device& device, std::int64_t core_num, Args args,
           Binding* binding) {
  if (core_num == KDL_CORES_AUTO) core_num = device.facts().cores;
  Error error = BindUnprefixed(function, device, core_num, args, binding);
  return error == nullptr ? nullptr : OfLaunch(function.shown_name(), std::move(error));
}

}  // namespace kdl::runtime
