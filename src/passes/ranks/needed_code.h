#pragma once

#include <map>

#include "ir/builder.h"
#include "passes/names.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// The values in a program that the sizes and parameters of a launched kernel have.
struct LaunchNumbers {
  std::map<Name, Value*> sizes;
  std::map<const Value*, Value*> params;
};

/// A range of indices, and the condition under which any of them are needed.
struct NeededRange {
  Value* first;
  Value* end;
  Value* condition;
};

/// Creates the ops that compute the range of indices of a part. The range is within 0 .. size.
NeededRange MakeNeededRange(ir::Builder& b, const proofs::NeededPart& part, Value* size,
                            const LaunchNumbers& numbers);

}  // namespace kdl::passes
