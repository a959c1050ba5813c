#pragma once

#include <cstdint>
#include <string>

#include "ir/op.h"
#include "kdl/kernel_abi.h"

namespace kdl::interp {

/// What a watch finds (watch.h).
enum class FindingKind : uint8_t {
  None,
  Race,        ///< two agents
  Twice,       ///< a store names an element twice
  Unwritten,   ///< a read of what nothing has written
  Incomplete,  ///< an `out` with elements that nothing has written
  Outside,     ///< an index outside that was taken as proven
};

/// Why a core stopped itself: the program's mistake, found at run time.
struct Trap {
  kdl_trap_code code = KDL_TRAP_INDEX;
  const ir::Op* op = nullptr;  ///< that trapped
  int32_t dimension = -1;      ///< of the tensor, where the code has one
  int64_t index = 0;
  int64_t bound = 0;
  std::string text{};  ///< what the message quotes instead of the op's text; may be empty
  FindingKind finding = FindingKind::None;
  const ir::Op* other = nullptr;   ///< of a race: the other access, where it is another one
  const ir::Loc* place = nullptr;  ///< where no op stands for what is wrong
};

/// The source text that the trap of an op quotes.
std::string QuotedText(const ir::Op& op);

/// `file.kdl:12:9: error: index 64 is outside dimension 0 of size 64 in 'x[i + 1]'`, as the runtime
/// words it; after it, on a line of its own, the note of a second place.
std::string ToString(const Trap& trap);

/// `file.kdl:12:9`; "an op without a place" where the loc has none.
std::string ToString(const ir::Loc& loc);

}  // namespace kdl::interp
