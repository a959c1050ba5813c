// The arguments of kernel launches.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kdl/tensor.hpp"

namespace kdl::inline KDL_VERSIONED {

// An argument of a launch: a tensor, or a scalar whose type is exactly the type of the parameter.
class Argument {
 public:
  Argument(const Tensor& tensor) : arg_{&tensor.array(), 0, 0, {}} {}  // NOLINT: implicit
  template <class T>
    requires std::is_arithmetic_v<T> || Narrow<T>
  Argument(T value) : arg_{nullptr, 0, ElementOf<T>(), {}} {  // NOLINT: implicit
    __builtin_memcpy(&arg_.bits, &value, sizeof value);
  }

  explicit Argument(const kdl_arg& arg) : arg_(arg) {}

  const kdl_arg& get() const { return arg_; }

  // Returns the scalar as a T. T must be the scalar's type, which get().element specifies.
  template <class T>
  T As() const {
    return Load<T>(&arg_.bits);
  }

 private:
  kdl_arg arg_;
};

}  // namespace kdl::inline KDL_VERSIONED
