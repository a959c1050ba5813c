#pragma once

#include <cstdint>
#include <string>

#include "ir/op.h"
#include "kdl/kernel_abi.h"

namespace kdl::interp {

/// What a watch finds (watch.h).
enum class FindingKind : uint8_t {
  None,
  Race,        ///< between two agents
  Twice,       ///< a store writes an element twice
  Unwritten,   ///< something is read that nothing has written
  Incomplete,  ///< an `out` has elements that nothing has written
  Outside,     ///< an index is outside although it was proven to be inside
};

/// Why a core stopped: an error in the program that was found at run time.
struct Trap {
  kdl_trap_code code = KDL_TRAP_INDEX;
  const ir::Op* op = nullptr;  ///< the op that trapped
  int32_t dimension = -1;      ///< of the tensor, for codes that have one
  int64_t index = 0;
  int64_t bound = 0;
  std::string text{};  ///< quoted by the message instead of the op's text; may be empty
  FindingKind finding = FindingKind::None;
  const ir::Op* other = nullptr;   ///< of a race: the other access, if it is a different op
  const ir::Loc* place = nullptr;  ///< the location if there is no op for the error
};

/// Returns the source text that the trap of an op quotes.
std::string QuotedText(const ir::Op& op);

/// Returns `file.kdl:12:9: error: index 64 is outside dimension 0 of size 64 in 'x[i + 1]'`, worded as by the
/// runtime. A note about a second location follows on its own line.
std::string ToString(const Trap& trap);

/// Returns `file.kdl:12:9`, or "an op without a location" if there is no location.
std::string ToString(const ir::Loc& loc);

}  // namespace kdl::interp
