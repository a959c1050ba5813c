#include "api/last_arguments.h"

#include "core/element.h"

namespace kdl::runtime {

namespace {

std::uint64_t MaskOf(const kdl_param_desc& param) {
  const int bits = param.is_tensor != 0 ? 64 : FactsOfElement(param.element)->bits;
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

}  // namespace

LastArguments::LastArguments(const kdl_variant& variant) {
  std::size_t sizes = 0;
  params_.Reserve(static_cast<std::size_t>(variant.param_count));
  for (std::int32_t p = 0; p < variant.param_count; ++p) {
    const kdl_param_desc& param = variant.params[p];
    params_.Add({0, MaskOf(param), FfiParam(param)});
    if (param.is_tensor != 0) sizes += static_cast<std::size_t>(param.rank);
  }
  sizes_.Reserve(sizes);
  while (sizes_.size() < sizes) sizes_.Add(0);
}

// The caller has just stored the arguments one by one, so they are also read one by one: a vector that contains several
// of them could not be read before all are in the cache.
bool LastArguments::AreThese(const DenseArguments& arguments) const {
  std::uint64_t differs = 0;
  for (std::size_t p = 0; p < params_.size(); ++p)
    differs |= (arguments.values[p].u64 & params_[p].mask) ^ params_[p].value;
  for (std::size_t s = 0; s < sizes_.size(); ++s)
    differs |= static_cast<std::uint64_t>(arguments.sizes[s] ^ sizes_[s]);
  return differs == 0;
}

bool LastArguments::AreThese(const kdl_ffi_any* arguments, std::int32_t count) const {
  if (static_cast<std::size_t>(count) != params_.size()) return false;
  const std::int64_t* sizes = sizes_.data();
  for (const Param& param : params_) {
    if (!param.ffi.IsEqual(*arguments++, param.value, sizes)) return false;
    sizes += param.ffi.rank();
  }
  return true;
}

void LastArguments::Keep(const DenseArguments& arguments) {
  for (std::size_t p = 0; p < params_.size(); ++p)
    params_[p].value = arguments.values[p].u64 & params_[p].mask;
  for (std::size_t s = 0; s < sizes_.size(); ++s) sizes_[s] = arguments.sizes[s];
}

}  // namespace kdl::runtime
