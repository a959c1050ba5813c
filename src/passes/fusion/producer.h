#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/names.h"

namespace kdl::passes {

inline bool IsTensor(const Value* value) { return value->type()->kind == ir::TypeKind::Tensor; }

/// Why launches cannot be fused: what the source does at `loc`, and what to write instead.
struct Obstacle {
  enum class Kind : uint8_t { Kernel, Read, Tensor };
  Kind kind = Kind::Kernel;
  size_t member = 0;  ///< the number of the launch in its `fuse`
  std::string name;   ///< what is read, or the name of the tensor
  ir::Loc loc;
  std::string reason;
  std::string help;
};

/// Returns the first op whose result may depend on how a dimension is divided into blocks, for axes that satisfy the
/// condition, or null.
const Op* FirstThatDependsOnBlock(const ir::Function& kernel,
                                  const std::function<bool(AxisId)>& is_binder);

/// Returns what an op of a kernel does that cannot be done again for the elements that another kernel needs, such as "it
/// prints", or an empty string.
std::string DescribeEffect(const Op* op);

/// Returns whether the spmd binds only some of the indices, as in `spmd for r in 0..R step 2`.
bool HasStep(const Op* spmd);
inline constexpr const char* kHasStep = "its `spmd for` has a step";

/// Returns the only `spmd for` of a kernel, whose blocks only read and write tensors. If the kernel is not like that, returns null and
/// states why.
const Op* FindOnlySpmd(const ir::Function& kernel, Obstacle& obstacle);

/// Returns the number of the binder that is the index of a store in this dimension, or nothing if the index is not a binder.
std::optional<size_t> BinderOfIndex(const Op* spmd, const Op* store, size_t dimension);

/// A tensor that a kernel writes with a single store.
struct ProducedTensor {
  size_t param = 0;
  const Op* store = nullptr;
  std::vector<size_t> binders;  ///< for each dimension, the number of the binder that is its index
};

/// A kernel whose elements can be computed anywhere: it has one `spmd for`, and each element that it stores depends
/// only on the index of the element.
struct Producer {
  const ir::Function* kernel = nullptr;
  const Op* spmd = nullptr;
  std::vector<ProducedTensor> tensors;

  /// Returns the axis of a binder, or nothing if the binder is a single index.
  std::optional<AxisId> AxisOf(size_t binder) const;
};

/// Returns the kernel as a producer. If it is not one, returns nothing and states why.
std::optional<Producer> ProducerOf(const ir::Function& kernel, Obstacle& obstacle);

}  // namespace kdl::passes
