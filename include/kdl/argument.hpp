// The arguments of launches.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "kdl/tensor.hpp"

namespace kdl::inline KDL_VERSIONED {

// An argument of a launch: a tensor, or a scalar of exactly the parameter's type.
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

  // Returns the scalar as a T, which must be its type; get().element says which type it has.
  template <class T>
  T As() const {
    return Load<T>(&arg_.bits);
  }

 private:
  kdl_arg arg_;
};

}  // namespace kdl::inline KDL_VERSIONED
