#pragma once

#include <map>

#include "ir/builder.h"
#include "passes/names.h"
#include "passes/ranks/rank_ops.h"
#include "proofs/proofs.h"

namespace kdl::passes {

/// The values in a program that the sizes and parameters of a launched kernel have.
struct LaunchNumbers {
  std::map<Name, Value*> sizes;
  std::map<const Value*, Value*> params;
};

/// A box of elements, and the condition under which any of them are needed.
struct NeededBox {
  BoxValues box;
  Value* condition = nullptr;
};

/// Creates the ops that compute the box of a part. It is within the box `whole`.
NeededBox MakeNeededBox(ir::Builder& b, const proofs::NeededPart& part, const BoxValues& whole,
                        const LaunchNumbers& numbers);

}  // namespace kdl::passes
