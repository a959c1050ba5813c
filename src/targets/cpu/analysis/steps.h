#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/op.h"

namespace kdl::cpu {

/// Loads or stores whose elements are 2 to 4 elements apart along the last axis of an elementwise loop. The
/// elements of a group lie between each other, as those of `x[2 * i]` and `x[2 * i + 1]`, so they are loaded
/// or stored together. If the same op is applied to all elements, its results are a group, too: it is computed
/// before the elements are taken apart.
struct StepGroup {
  struct Member {
    const ir::Op* op;
    /// The distance of its elements from those of the group's first member in memory.
    int64_t offset;
  };
  int64_t step = 0;             ///< the distance between the elements of adjacent points
  std::vector<Member> members;  ///< in the order of the loop's body
  /// Whether the group is full and its elements are one vector. Code generators split such a vector well if the step
  /// is 2 or elements are bytes.
  bool is_whole = false;
  /// For results of ops, the number of the group of each operand; nothing for an operand that all members share.
  std::vector<std::optional<size_t>> operands = {};

  /// Returns the member whose elements come first in memory.
  const ir::Op* First() const;
  /// Returns the member's offset, or nothing if the op is not a member.
  std::optional<int64_t> OffsetOf(const ir::Op* op) const;
  /// Returns the largest offset of a member.
  int64_t Extent() const;
  /// Returns whether each element between the group's first and last one belongs to a member.
  bool IsFull() const;
};

/// Returns whether the tensor contains all elements up to the next point's element of the group, also after the
/// last point. In `x[2 * i]` with `where P == 2 * N`, this is the element `x[2 * N - 1]`, which no point reads.
bool HasElementsBetween(const ir::Function& function, const ir::Op* elementwise,
                        const StepGroup& group);

/// The largest step. With larger ones, most of the elements that are loaded are not needed.
inline constexpr int64_t kLargestStep = 4;

/// Groups the accesses, which are in the order of the body and have the given steps. Returns nothing if stores
/// are left that cannot be stored together.
struct SteppedAccess {
  const ir::Op* op;
  int64_t step;
};
std::optional<std::vector<StepGroup>> GroupSteps(const ir::Op* elementwise,
                                                 const std::vector<SteppedAccess>& accesses);

/// Returns whether the op widens integers to twice their size. If it widens every second element of a vector, these
/// need not be taken apart: each is one half of a wider integer.
bool WidensTwofold(const ir::Op* op);

/// Adds groups of results, whose operands are groups that nothing else uses.
void AddResultGroups(const ir::Op* elementwise, std::vector<StepGroup>& groups);

/// Returns whether the access goes from row to row along the loop's last axis and the rows are so short that,
/// if they adjoin in memory, its elements are at most `kLargestStep` elements apart.
bool WalksShortRows(const ir::Op* access, const ir::Op* elementwise);

/// Returns an access of a tensor, with rows of the given length, as one of the tensor with joined rows. Its last
/// index is the number of the row times the length, plus the index in the row.
ir::Access JoinedAccess(SizeTable& sizes, ir::Access access, Size length);

}  // namespace kdl::cpu
