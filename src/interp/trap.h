#pragma once

#include <cstdint>
#include <string>

#include "ir/op.h"
#include "kdl/kernel_abi.h"

namespace kdl::interp {

/// Why a core stopped itself: the program's mistake, found at run time.
struct Trap {
  kdl_trap_code code = KDL_TRAP_INDEX;
  const ir::Op* op = nullptr;  ///< that trapped
  int32_t dimension = -1;      ///< of the tensor, where the code has one
  int64_t index = 0;
  int64_t bound = 0;
  std::string text{};  ///< what the message quotes instead of the op's text; may be empty
};

/// The source text that the trap of an op quotes.
std::string QuotedText(const ir::Op& op);

/// `file.kdl:12:9: error: index 64 is outside dimension 0 of size 64 in 'x[i + 1]'`, as the runtime
/// words it.
std::string ToString(const Trap& trap);

/// `file.kdl:12:9`; "an op without a place" where the loc has none.
std::string ToString(const ir::Loc& loc);

}  // namespace kdl::interp
