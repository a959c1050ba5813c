// What the ways to bind a launch share.
#pragma once

#include "core/binding.h"

namespace kdl::runtime {

// "a[M, K]".
std::string Spelling(const kdl_param_desc& param);

// A scalar as kernels take it, from the low bytes of `bits`.
std::uint64_t TakeScalar(std::uint8_t element, std::uint64_t bits);

// Binds and checks what follows from the variant, the tensors and the scalars, which the binding has.
Error Settle(Device& device, std::int64_t core_num, Binding* binding);

// The error of a launch, named; traps say themselves where they come from.
Error OfLaunch(std::string_view name, Error error);

}  // namespace kdl::runtime
