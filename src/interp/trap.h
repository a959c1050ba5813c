#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "kdl/kernel_abi.h"

namespace kdl::interp {

/// The kinds of errors that a watch finds (watch.h).
enum class FindingKind : uint8_t {
  None,
  Race,        ///< two agents access an element, and one of them changes it
  Twice,       ///< a store writes an element twice
  Unwritten,   ///< an element is read that nothing has written
  Incomplete,  ///< an `out` has elements that nothing has written
  Outside,     ///< an index is out of bounds although it was proven to be in bounds
};

/// The reason why a core stopped: an error in the program that was found at run time.
struct Trap {
  kdl_trap_code code = KDL_TRAP_INDEX;
  const ir::Op* op = nullptr;  ///< the op that trapped
  int32_t dimension = -1;      ///< the dimension of the tensor, for trap codes about a dimension
  int64_t index = 0;
  int64_t bound = 0;
  std::string text{};  ///< text that the message quotes instead of the op's text; may be empty
  FindingKind finding = FindingKind::None;
  /// For a race: the op of the other access, if it is a different op.
  const ir::Op* other = nullptr;
  const ir::Loc* place = nullptr;  ///< the location of the error if there is no op for it
  std::vector<std::pair<ir::Loc, std::string>> notes{};  ///< more locations, with a text for each
};

/// Returns the source text that the trap of an op quotes.
std::string QuotedText(const ir::Op& op);

/// Adds a note for each call through which code at `loc` was inlined, from the inside to the outside.
void NoteCalls(const ir::Loc& loc, Trap& trap);
/// Adds a note for the call, and for those through which it was inlined.
void NoteCall(const ir::Loc& call, Trap& trap);

/// Returns a message such as `file.kdl:12:9: error: index 64 is outside dimension 0 of size 64 in 'x[i +
/// 1]'`. The wording is that of the runtime. Notes about further locations follow on separate lines.
std::string ToString(const Trap& trap);

/// Returns `file.kdl:12:9`, or "an op without a location" if there is no location.
std::string ToString(const ir::Loc& loc);

}  // namespace kdl::interp
