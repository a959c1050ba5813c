#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// Returns the tensor whose memory a value uses: the underlying tensor of a view or slice, otherwise the
/// value itself.
Value* MemoryOf(Value* tensor);
inline const Value* MemoryOf(const Value* tensor) { return MemoryOf(const_cast<Value*>(tensor)); }

/// Returns all ops that use the tensor's memory, directly or through views and slices. The views and slices
/// themselves are not included.
std::vector<Op*> UsersOfMemory(const Value* tensor);

/// The dimensions that a `view` changes: `from` dimensions of its operand, starting at `dimension`, become
/// `to` dimensions of its result. One of the two numbers is 1.
struct ViewedDims {
  size_t dimension;
  size_t from;
  size_t to;
};
ViewedDims ViewedDimsOf(const Op* view);

/// Returns the source name of the tensor whose memory a view shares.
std::string_view ViewedName(const Op* view);

/// Returns the message for a view whose operand does not have the strides that the view requires in
/// dimensions `d` and `d + 1`. `stride` and `wanted` are the actual and the required stride as text.
std::string ApartMessage(const Op* view, size_t d, std::string_view stride,
                         std::string_view wanted);

}  // namespace kdl::ir
