#pragma once

#include <span>
#include <vector>

#include "core/pack_ranks.h"
#include "extension/python.h"
#include "kdl/kernel_abi.h"

namespace kdl::python {

/// The arguments `rank_A=` of a call: how many dimensions packs have. No parameter of a kernel has the name of one of them.
class CallRanks {
 public:
  /// Reads the ranks of the variant's packs from `keywords`, which may be null, and leaves them there. On failure, sets a Python
  /// exception and returns false.
  bool Read(const kdl_variant& variant, PyObject* keywords);

  std::span<const runtime::PackRank> ranks() const { return ranks_; }

 private:
  std::vector<runtime::PackRank> ranks_;
};

}  // namespace kdl::python
