#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "ir/views.h"
#include "proofs/accesses.h"
#include "proofs/made_values.h"
#include "proofs/value_numbers.h"
#include "proofs/varying.h"
#include "proofs/wraps.h"

namespace kdl::proofs {

// Queries about a function's code, and their results. Other folders include only this header.
//
//   is an index in bounds?                    Inside      the indices that are not proven, with what is known about them
//   may two blocks access one element?        Disjoint    the accesses, with a launch in which blocks surely do
//   is each element written before it is      Written     yes or not proven, with an element that is not written
//   read, and when the kernel has ended?
//   may cores differ in what they do?         Varying     the values and ops in which they may
//   may a sum overflow 64 bits?               Wraps       how far numbers are from 0
//   which elements may a launch read?         FindNeededParts   boxes, in sizes and parameters
//   is a value known, are two values equal?   ConstantBits, TableValues, ValueNumbers
//   do two kernels have the same answers?     AreAlike
//
// The answer `true` is a proof for all launches that are not refused, regardless of the data. Code without a
// proof need not be wrong unless there is an example. What the proofs assume about launches is listed in
// launch_limits.h.

/// Limits the work that a proof may do. A property that would need more work is not proven.
struct Limits {
  /// The maximum number of steps for each query; if empty, each query has its own maximum.
  std::optional<uint64_t> steps = {};
};

/// Returns how many proofs this thread has tried, each of which may use up the maximum number of steps. Kernels that are alike
/// are proven once.
uint64_t ProofsTried();

/// Whether the bounds modes of accesses count when kernels are compared.
enum class BoundsModes : uint8_t { Compared, Ignored };
/// Returns whether the functions are equal except for their names and for types that no proof depends on, such as those
/// of the data of two instances of a generic kernel. If so, all queries have the same answers for both.
bool AreAlike(const ir::Function& a, const ir::Function& b,
              BoundsModes modes = BoundsModes::Compared);

/// Parts (index ranges) of a dimension, one for each block, whose bounds come from `in` tables:
///
///   spmd (%e: i64 in lo .. hi) { … for %r in from(%e) .. to(%e) { … } }
///
/// If the result of a query depends only on the contents of the tables, the launch has to check them.
///
/// The number of a part can also be the variable of a loop inside of the spmd.
struct Parts {
  ir::Op* walk;
  const ir::Value* binder;  ///< the number of a part
  const ir::Op* loop;
  /// Added to both bounds; null if they are not shifted: with accesses to [begin[e] + r], the loop
  /// `for r in 0..length[e]` handles the part begin[e] .. begin[e] + length[e].
  const ir::Value* shift = nullptr;
  /// Loop variables that choose a table for the parts, as %b in off[b, e] .. off[b, e + 1]. `binder` is none of them. They
  /// are those of the same loop, or of loops around it.
  std::vector<const ir::Value*> tables = {};
  /// Set if the numbers of these parts are themselves a part of an spmd's block, as in
  /// `for %s in off[e] .. off[e + 1] { for %r in sub[s] .. sub[s + 1] … }`: the binder of the parts whose loop has `binder`.
  const ir::Value* number_of_block = nullptr;

  /// The spmd or loop whose iterations handle the parts.
  const ir::Op* over() const {
    return (number_of_block ? number_of_block : binder)->parent_region()->parent();
  }
  /// The loop over the numbers, if these are a part.
  const ir::Op* numbers() const { return binder->parent_region()->parent(); }
  const ir::Value* from() const { return loop->operand(0); }
  const ir::Value* to() const { return loop->operand(1); }
};
/// Returns whether each part ends where the next one begins, regardless of the contents of the tables,
/// because both bounds are adjacent elements of one table.
bool IsChained(const Parts& parts);

/// An execution of an access whose index is out of bounds.
struct IndexExample {
  int64_t index;
  std::string at;     ///< ` at i = 0, j = 1`; empty if there are no loops
  std::string sizes;  ///< `, for N = 5, BM = 2`; empty if no size matters
};

/// The finding that an index is out of bounds in every launch that reaches the access.
struct AlwaysOutside {
  bool above;
  /// The least or greatest index in terms of sizes, such as `2*N - 1`; empty if every index is out of bounds.
  std::string extreme;
  std::optional<IndexExample> example;
};

/// An index of an access that is not proven to be in bounds.
struct OpenIndex {
  size_t dim = 0;
  bool below = false;
  bool above = false;
  std::optional<AlwaysOutside> outside{};
};

/// What is known about the indices of an access.
struct IndexAnswer {
  bool is_range = false;  ///< whether at least one index is a range over its whole dimension
  std::vector<OpenIndex> open{};
};

/// The bounds of an index of an access, as sums of sizes; `to` is exclusive.
struct IndexEnds {
  Size from;
  Size to;
  Size any;  ///< 1 if all enclosing loops have iterations, otherwise 0
};

/// Determines whether the indices of accesses are in bounds.
class Inside {
 public:
  Inside(const ir::Function& function, ir::TypeTable& types, const Limits& limits = {});
  ~Inside();

  IndexAnswer OpenIndices(const AccessView& view);
  /// Returns whether every element that a gather reads from a tile is within the tile's block.
  bool IsTakeInside(ir::GatherOp take);
  /// Returns whether the proof that the indices are in bounds depends on the access's mask.
  bool NeedsMask(const AccessView& view);
  /// Returns the bounds of the index of dimension `dim`; nothing if the access is not executed in every
  /// launch, or if the bounds depend on more than sizes.
  std::optional<IndexEnds> FindIndexEnds(const AccessView& view, size_t dim);
  /// The same for an access that may not be executed in every launch; `any` is null.
  std::optional<IndexEnds> FindIndexSpan(const AccessView& view, size_t dim);
  /// From now on, launches that violate this `require` also count as refused.
  void Require(const ir::Op* op);

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

/// A description of two blocks that surely race in some launch.
struct RaceExample {
  const ir::Op* op;     ///< a write
  const ir::Op* other;  ///< the op that conflicts with it; may be the same op
  bool reads;           ///< whether `other` reads the element
  /// The block that executes `op`, such as `block i = 0..63, j = 3` or `core 1`.
  std::string block;
  std::string other_block;
  std::string element;  ///< such as `y[4, 0]`
  std::string sizes;    ///< `, for N = 5, BM = 2`; empty if no size matters
};

/// Two accesses through which two blocks may access the same element without a barrier in between.
struct Meeting {
  AccessView write;
  AccessView other;  ///< the conflicting access; may be the same access
  /// Whether at least one of the accesses is in an `spmd for`. Otherwise, each core executes both accesses.
  bool of_blocks;
  std::optional<RaceExample> example;
};

/// An element that a store surely writes twice.
struct TwiceExample {
  std::string element;
  std::string first;  ///< such as `i = 0, j = 1`
  std::string second;
};
struct TwiceStored {
  const ir::Op* store;
  std::optional<TwiceExample> example;
};

/// Determines whether a block writes elements that other blocks access.
class Disjoint {
 public:
  Disjoint(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits = {});
  ~Disjoint();

  /// Returns one possible race for each memory that may have races. Leaves out memories for which the
  /// contents of tables can rule out races. After this call, `parts` returns the parts that depend on these
  /// tables.
  std::vector<Meeting> Meetings();
  /// Returns the stores that may write an element twice, except those to the memories in `but`.
  std::vector<TwiceStored> StoredTwice(const std::set<const ir::Value*>& but);
  /// Returns the parts that the launch has to check: each must end no earlier than it begins, and no later
  /// than the next one begins.
  std::vector<Parts> parts() const;

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

/// An element for which a mistake surely occurs in some launch.
struct ElementExample {
  std::string element;
  std::string sizes;
};

/// Determines whether elements are written regardless of the data.
class Written {
 public:
  Written(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits = {});
  ~Written();

  /// Returns whether the whole tensor has been written by the time the kernel ends. If that depends on the
  /// contents of tables, a later call of `parts` returns the parts to check.
  bool IsWhole(const ir::Value* tensor);
  /// Returns whether everything that an access reads has been written before the access.
  bool IsBefore(const AccessView& view);
  /// Returns an element that nothing writes in some launch.
  std::optional<ElementExample> Hole(const ir::Value* tensor);
  /// Returns an element that an access surely reads although nothing can have written it before.
  std::optional<ElementExample> TooSoon(const ir::Op* op, const ir::Value* memory);
  /// Returns the parts that the launch has to check, each with a size: the launch must check that these parts
  /// together cover 0 to that size.
  std::vector<std::pair<Parts, Size>> parts() const;

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

// Which elements of a tensor may a launch read? The answer is a formula in the sizes and integer parameters of the launch.
// If parameters of the kernel bound its `spmd for`, it is a formula in these bounds:
//
//   spmd (%i: blk<i> in %first .. %end, …) { … load %x[%i - 1, %j] … load %x[%i + 1, %j] … }
//
// reads the rows from max(0, first - 1) to min(M - 1, end) of x.

/// A sum of multiples of sizes and of i64 parameters of the kernel.
struct LaunchSum {
  std::vector<std::pair<Name, int64_t>> sizes;
  std::vector<std::pair<const ir::Value*, int64_t>> params;
  int64_t constant = 0;
};

/// The number sum / divisor. A lower bound is rounded up and an upper bound down. The divisor is at least 1.
struct LaunchBound {
  LaunchSum sum;
  int64_t divisor = 1;
};

/// The indices of a dimension that are at least each of `least` and at most each of `most`. Indices outside of the tensor
/// are not excluded.
struct NeededIndices {
  std::vector<LaunchBound> least;
  std::vector<LaunchBound> most;
};

/// A box of elements, if all sums in `conditions` are at least 0; otherwise nothing.
struct NeededPart {
  std::vector<NeededIndices> dims;
  std::vector<LaunchSum> conditions;
};

struct NeededParts {
  /// Together, the parts contain all elements that the launch may read, and perhaps others.
  std::vector<NeededPart> parts;
  /// An access for which there is no formula, for example because its index is loaded from memory; null if there is
  /// none.
  const ir::Op* unknown = nullptr;
};

/// Two parameters of a kernel, the first of which is less than the second.
struct KernelPart {
  const ir::Value* first = nullptr;
  const ir::Value* end = nullptr;
};

/// Returns the elements of `tensor`, a parameter, that a launch of the kernel may read. Only the dimensions for which
/// `is_wanted` is true need a formula; of another one, all indices may be needed. Only launches in which 0 <= first < end
/// for all `parts` are considered.
NeededParts FindNeededParts(const ir::Function& kernel, ir::TypeTable& types,
                            const ir::Value* tensor, const std::vector<bool>& is_wanted,
                            const std::vector<KernelPart>& parts);

}  // namespace kdl::proofs
