#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace kdl::ir {

/// The tensor whose memory a value shows: what views and parts are of; else the value itself.
Value* MemoryOf(Value* tensor);
inline const Value* MemoryOf(const Value* tensor) { return MemoryOf(const_cast<Value*>(tensor)); }

/// All ops that use the tensor's memory, through a view or part or not; these themselves are none of them.
std::vector<Op*> UsersOfMemory(const Value* tensor);

/// Which dimensions a `view` changes: `from` of its operand, from `dimension` on, become `to` of its result. One of the two
/// is 1.
struct ViewedDims {
  size_t dimension;
  size_t from;
  size_t to;
};
ViewedDims ViewedDimsOf(const Op* view);

/// The source's name of the tensor that a view shows.
std::string_view ViewedName(const Op* view);

/// What to say where the operand's dimension `d` does not lie around the one after it, as the view wants: `stride` and
/// `wanted` stand for the numbers.
std::string ApartMessage(const Op* view, size_t d, std::string_view stride,
                         std::string_view wanted);

}  // namespace kdl::ir
