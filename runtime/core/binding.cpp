#include "core/binding.h"

#include <algorithm>

#include "core/element.h"
#include "core/handles.h"
#include "core/packs.h"
#include "core/view.h"

namespace kdl::runtime {

namespace {

using Args = std::span<const kdl_arg>;

// Whether the argument is null, that is, has neither an array nor a scalar type.
bool IsNull(const kdl_arg& arg) { return arg.array == nullptr && arg.element == 0; }

// Whether the argument is null, or a view that no buffer belongs to, such as that of an empty kdl::Tensor.
bool IsNothing(const kdl_arg& arg) {
  return IsNull(arg) || (arg.array != nullptr && arg.array->buffer == nullptr);
}

std::string DescribeArgument(const kdl_arg& arg) {
  if (IsNull(arg)) return "NULL";
  return arg.array == nullptr ? std::string(ElementName(arg.element)) : Describe(arg.array->view);
}

// The check that an argument list failed when it was matched against a variant. A larger value means a closer
// match.
enum class Fit { kCount, kTensor, kRank, kElement, kSize, kFits };

struct Match {
  Fit fit;
  std::int32_t param = 0;
  std::int32_t dimension = 0;
};

Match MatchParam(const kdl_variant& variant, const kdl_param_desc& param, const kdl_arg& arg) {
  if (IsNothing(arg) && param.is_tensor != 0 && IsAbsent(variant, param)) return {Fit::kFits};
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
    Match match = MatchParam(variant, variant.params[p], args[static_cast<std::size_t>(p)]);
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
                   " given, but it has ", variant.param_count, names.empty() ? "" : ": ",
                   JoinWords(names));
  }
  const kdl_param_desc& param = variant.params[match.param];
  const kdl_arg& arg = args[static_cast<std::size_t>(match.param)];
  const std::string given = DescribeArgument(arg);
  switch (match.fit) {
    case Fit::kTensor:
      if (IsNull(arg))
        return Invalid("parameter ", ParameterType(param), " is a tensor, but NULL is given");
      return arg.array == nullptr ? Invalid("parameter ", ParameterType(param),
                                            " is a tensor, but a scalar (", given, ") is given")
                                  : Invalid("parameter ", ParameterType(param),
                                            " is a scalar, but a tensor (", given, ") is given");
    case Fit::kRank:
      return Invalid("parameter ", ParameterType(param), " has ", param.rank,
                     param.rank == 1 ? " dimension" : " dimensions", ", but the tensor given, ",
                     given, ", has ", arg.array->view.rank);
    case Fit::kSize:
      return Invalid("dimension ", match.dimension, " of ", Spelling(param), " is ",
                     param.dim_const[match.dimension], ", but the tensor given is ", given);
    default:
      return Invalid("parameter ", ParameterType(param), " needs ", ElementName(param.element),
                     ", but ", given, " is given");
  }
}

Error NoVariant(const kdl_variant& closest, const std::vector<std::string>& signatures, Args args) {
  std::string text = "no variant accepts (";
  for (std::size_t p = 0; p < args.size(); ++p) {
    text += Concat(p == 0 ? "" : ", ", closest.params[p].name, ": ", DescribeArgument(args[p]));
  }
  text += "); there are";
  for (const std::string& signature : signatures) {
    text += Concat(&signature == &signatures.front() ? " " : "; ", signature);
  }
  return Invalid(text);
}

// Returns an error that explains why no variant fits the arguments.
Error NoneFits(std::span<const Candidate> candidates, Args args) {
  Match nearest = {Fit::kCount};
  const kdl_variant* closest = nullptr;
  std::vector<std::string> signatures;
  for (const Candidate& candidate : candidates) {
    if (IsForStrides(*candidate.variant)) continue;
    const Match match = MatchVariant(*candidate.variant, args);
    if (closest == nullptr || match.fit > nearest.fit) {
      nearest = match;
      closest = candidate.variant;
    }
    const std::string signature = Signature(*candidate.variant);
    if (std::find(signatures.begin(), signatures.end(), signature) == signatures.end()) {
      signatures.push_back(signature);
    }
  }
  const bool is_choice = signatures.size() > 1 && nearest.fit >= Fit::kElement;
  return is_choice ? NoVariant(*closest, signatures, args) : Mismatch(*closest, nearest, args);
}

// Selects the first variant that fits the arguments.
Error PickVariant(std::span<const Candidate> candidates, Args args, Candidate* picked) {
  for (const Candidate& candidate : candidates) {
    if (MatchVariant(*candidate.variant, args).fit != Fit::kFits) continue;
    *picked = candidate;
    return nullptr;
  }
  return NoneFits(candidates, args);
}

Error CheckTensor(const kdl_param_desc& param, const kdl_array& array, const Device& device) {
  if (CheckArray(array, "") != nullptr) {
    // Building the message allocates memory, so it is built only after a check has failed.
    return CheckArray(array, Concat("the tensor for ", Spelling(param)));
  }
  const Buffer& buffer = *Unwrap(array.buffer);
  if (&buffer.device().scheduler() != &device.scheduler()) {
    return Invalid("the tensor for ", Spelling(param), " is ", Describe(buffer),
                   ", which belongs to another context than the queue");
  }
  if (!device.SharesMemoryWith(buffer.device())) {
    return Invalid("the tensor for ", Spelling(param), " is ", Describe(buffer),
                   ", but the launch is on ", device.uri(), "; copy it there first");
  }
  const kdl_tensor& view = array.view;
  const std::int32_t last = view.rank - 1;
  if (last >= 0 && view.size[last] > 1 && view.stride[last] != 1 && !IsEmpty(view)) {
    return Invalid("the tensor for ", Spelling(param), " has stride ", view.stride[last],
                   " in its last dimension, which must be 1; pass a row-major copy");
  }
  if (param.direction != KDL_IN && buffer.is_constant())
    return CheckWritable(buffer, Concat("the tensor for ", Spelling(param)));
  return param.direction == KDL_IN ? nullptr : CheckOwnElements(param, view);
}

Error CheckTensors(const kdl_variant& variant, Args args, const Device& device) {
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_arg& arg = args[static_cast<std::size_t>(p)];
    const kdl_array* array = arg.array;
    if (IsNothing(arg) && IsAbsent(variant, variant.params[p])) continue;
    if (array != nullptr) KDL_RETURN_IF_ERROR(CheckTensor(variant.params[p], *array, device));
  }
  return nullptr;
}

// Copies a view. Sets the unused dimensions, too, because kernels expect sizes and strides for all of them.
// Copying the fields one by one is faster than copying the whole large struct.
void TakeView(const kdl_tensor& from, kdl_tensor* view) {
  view->data = from.data;
  view->rank = from.rank;
  view->element = from.element;
  view->reserved0 = from.reserved0;
  view->element_bits = from.element_bits;
  view->layout = from.layout;
  view->reserved1 = from.reserved1;
  std::int64_t outer = 0;
  for (std::int32_t d = 0; d < KDL_MAX_RANK; ++d) {
    const bool is_dimension = d < from.rank;
    view->size[d] = is_dimension ? from.size[d] : 1;
    // The stride of a dimension of size 1 can be anything. It gets that of the dimension before, with which a
    // kernel may merge it.
    if (is_dimension && from.size[d] > 1) outer = from.stride[d];
    view->stride[d] = is_dimension ? outer : 0;
  }
  // Kernels rely on an innermost stride of 1.
  if (from.rank > 0 && from.size[from.rank - 1] <= 1) view->stride[from.rank - 1] = 1;
}

// Adds the view for an optional tensor that is absent: null, with the sizes 0.
void AddAbsent(const kdl_param_desc& param, Binding* binding) {
  kdl_tensor& view = binding->tensors.Add();
  view = {};
  view.rank = param.rank;
  view.element = param.element;
  view.element_bits = FactsOfElement(param.element)->bits;
  for (std::int32_t d = param.rank; d < KDL_MAX_RANK; ++d) view.size[d] = 1;
  view.stride[param.rank - 1] = 1;
  binding->spans.Add(0);
  binding->memories.Add({});
  binding->buffers.Add(nullptr);
}

void TakeArguments(const kdl_variant& variant, Args args, Binding* binding) {
  binding->scalars.Reserve(args.size());
  binding->tensors.Reserve(args.size());
  binding->spans.Reserve(args.size());
  binding->memories.Reserve(args.size());
  binding->buffers.Reserve(args.size());
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_arg& arg = args[static_cast<std::size_t>(p)];
    if (variant.params[p].is_tensor != 0 && IsNothing(arg)) {
      AddAbsent(variant.params[p], binding);
      continue;
    }
    if (arg.array == nullptr) {
      binding->scalars.Add(TakeScalar(arg.element, arg.bits));
      continue;
    }
    kdl_tensor& view = binding->tensors.Add();
    TakeView(arg.array->view, &view);
    binding->spans.Add(SpanBytes(view));
    Buffer* buffer = Unwrap(arg.array->buffer);
    binding->memories.Add(buffer->memory());
    binding->buffers.Add(buffer);
  }
}

// The arguments of a launch after dimensions have been merged to packs. Valid for as long as this object.
class MergedArgs {
 public:
  Error Merge(const Function& function, std::span<const Candidate> candidates, Args* args) {
    const kdl_variant& variant = *candidates[0].variant;
    std::vector<PackRank> ranks;
    KDL_RETURN_IF_ERROR(FindRanks(variant, function.name(), &ranks));
    if (!NeedsMerge(variant, ranks, *args)) return nullptr;
    const auto found =
        std::find_if(candidates.begin(), candidates.end(),
                     [](const Candidate& candidate) { return IsForStrides(*candidate.variant); });
    const kdl_variant* strided = found == candidates.end() ? nullptr : found->variant;
    args_.assign(args->begin(), args->end());
    arrays_.resize(args->size());
    std::vector<kdl_tensor*> views(args->size());
    for (std::size_t p = 0; p < args_.size(); ++p) {
      if (IsNothing(args_[p]) || args_[p].array == nullptr) continue;
      arrays_[p] = *args_[p].array;
      args_[p].array = &arrays_[p];
      views[p] = &arrays_[p].view;
    }
    *args = args_;
    return MergePacks(variant, strided, Gaps::kExpand, ranks, views);
  }

 private:
  static bool NeedsMerge(const kdl_variant& variant, std::span<const PackRank> ranks, Args args) {
    if ((variant.flags & KDL_VARIANT_SHAPES) == 0 || std::ssize(args) != variant.param_count)
      return false;
    bool differ = !ranks.empty();
    for (std::size_t p = 0; p < args.size(); ++p)
      differ |= args[p].array != nullptr && MayNeedMerge(variant.params[p], args[p].array->view);
    return differ;
  }

  std::vector<kdl_arg> args_;
  std::vector<kdl_array> arrays_;
};

Error BindUnprefixed(const Function& function, Device& device, std::int64_t core_num, Args args,
                     Shapes shapes, Binding* binding) {
  if (&function.registry() != &device.registry()) {
    return Invalid("the kernel belongs to another context than the queue");
  }
  std::span<const Candidate> candidates;
  KDL_RETURN_IF_ERROR(function.FindCandidates(device, &candidates));
  MergedArgs merged;
  if (shapes == Shapes::kGiven) KDL_RETURN_IF_ERROR(merged.Merge(function, candidates, &args));
  KDL_RETURN_IF_ERROR(PickVariant(candidates, args, &binding->candidate));
  const kdl_variant& variant = *binding->candidate.variant;
  KDL_RETURN_IF_ERROR(CheckTensors(variant, args, device));
  TakeArguments(variant, args, binding);
  return Settle(device, core_num, binding);
}

}  // namespace

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
    return Invalid(start, "belongs to another context than the queue");
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
                     "; it must use memory of its own");
    }
  }
  const std::int64_t slices = binding.workspace_bytes - binding.shared_bytes;
  if (workspace.bytes() >= slices) return nullptr;
  return Invalid(start, "has ", workspace.bytes(), " bytes; it needs ", slices);
}

Error Bind(const Function& function, Device& device, std::int64_t core_num, Args args,
           Shapes shapes, Binding* binding) {
  Error error = BindUnprefixed(function, device, core_num, args, shapes, binding);
  return error == nullptr ? nullptr : OfLaunch(function.shown_name(), std::move(error));
}

}  // namespace kdl::runtime
