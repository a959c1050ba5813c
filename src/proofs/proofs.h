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

// What can be asked of a function's code, and what comes back. Nobody outside of this folder includes another header of it.
//
//   is an index inside?                       Inside      those that are not proven, with what is known of them
//   may two blocks touch one element?         Disjoint    the accesses, with a launch in which they surely do
//   is each element written, before it is     Written     yes or not proven, and an element that is not
//   read, and once the kernel has ended?
//   may cores differ in what they do?         Varying     values and places in which they may
//   may a sum leave 64 bits?                  Wraps       how far numbers are from 0
//   is a value known, are two values equal?   ConstantBits, TableValues, ValueNumbers
//
// `true` is a proof for all launches that are not refused, whatever the data is. What is not proven need not be wrong: an
// example says that it is. What proofs take for granted of launches is listed in launch_limits.h.

/// How much proofs may take. What is beyond that is not proven.
struct Limits {
  std::optional<uint64_t> steps = {};  ///< of any question; nothing: as many as each allows itself
};

/// Blocks that each have a part of a dimension of their own, which `in` tables bound:
///
///   spmd (%e: i64 in lo .. hi) { … for %r in from(%e) .. to(%e) { … } }
///
/// Where the tables alone decide a question, the launch is to check what they must hold.
struct Parts {
  ir::Op* walk;
  const ir::Value* binder;
  const ir::Op* loop;

  const ir::Value* from() const { return loop->operand(0); }
  const ir::Value* to() const { return loop->operand(1); }
};
/// Whether each part ends where the next one begins, whatever the tables hold: the bounds are neighbours in one table.
bool IsChained(const Parts& parts);

/// A run of an access whose index is outside.
struct IndexExample {
  int64_t index;
  std::string at;     ///< ` at i = 0, j = 1`; empty where nothing counts
  std::string sizes;  ///< `, for N = 5, BM = 2`; empty where no size matters
};

/// Every launch that gets there takes an index outside.
struct AlwaysOutside {
  bool above;
  std::string
      extreme;  ///< the least or greatest index, of sizes: `2*N - 1`; empty: it is each index
  std::optional<IndexExample> example;
};

/// An index of an access that is not proven to be inside.
struct OpenIndex {
  size_t dim = 0;
  bool below = false;
  bool above = false;
  std::optional<AlwaysOutside> outside{};
};

/// What is known of all indices of an access.
struct IndexAnswer {
  bool is_range = false;  ///< one index at least is a whole range over the dimension's own size
  std::vector<OpenIndex> open{};
};

/// Sums of sizes that an index of an access goes from and to, not including the latter.
struct IndexEnds {
  Size from;
  Size to;
  Size any;  ///< 1 where all loops around the access have turns, else 0
};

/// Whether the indices of accesses are inside of what they index.
class Inside {
 public:
  Inside(const ir::Function& function, ir::TypeTable& types, const Limits& limits = {});
  ~Inside();

  IndexAnswer Of(const AccessView& view);
  /// Whether each element that is taken from a tile is one of its block.
  bool Of(ir::GatherOp take);
  /// Whether the proof that indices are inside rests on the access's mask.
  bool NeedsMask(const AccessView& view);
  /// Nothing: the access is not reached in every launch, or sizes alone do not say it.
  std::optional<IndexEnds> EndsOf(const AccessView& view, size_t dim);
  /// From here on launches that do not meet a `require` are refused, too.
  void Require(const ir::Op* op);

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

/// Two blocks that surely race in some launch, in words.
struct RaceExample {
  const ir::Op* op;     ///< a write
  const ir::Op* other;  ///< may be the same
  bool reads;           ///< the other one does
  std::string block;    ///< `block i = 0..63, j = 3`, or `core 1`: the op's
  std::string other_block;
  std::string element;  ///< `y[4, 0]`
  std::string sizes;    ///< `, for N = 5, BM = 2`; empty where no size matters
};

/// Accesses of which runs of two blocks may touch one element, with no barrier between.
struct Meeting {
  AccessView write;
  AccessView other;  ///< may be the same
  bool of_blocks;    ///< one of them is in an `spmd for`; else each core runs both
  std::optional<RaceExample> example;
};

/// A store that surely names an element twice.
struct TwiceExample {
  std::string element;
  std::string first;  ///< `i = 0, j = 1`
  std::string second;
};
struct TwiceStored {
  const ir::Op* store;
  std::optional<TwiceExample> example;
};

/// Whether what one block writes is touched by no other block.
class Disjoint {
 public:
  Disjoint(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits = {});
  ~Disjoint();

  /// Of each memory that may have some, one; none where tables tell the blocks apart, which `parts` are from then on.
  std::vector<Meeting> Meetings();
  /// Stores that may name an element twice, but for those to some memories.
  std::vector<TwiceStored> StoredTwice(const std::set<const ir::Value*>& but);
  /// What the launch is to check: each part ends no earlier than it begins, and no later than the next one begins.
  std::vector<Parts> parts() const;

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

/// An element of which something is surely said in some launch.
struct ElementExample {
  std::string element;
  std::string sizes;
};

/// Whether elements are written, whatever the data is.
class Written {
 public:
  Written(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits = {});
  ~Written();

  /// All of a tensor, once the kernel has ended. Where tables decide it, `parts` has them from then on.
  bool IsWhole(const ir::Value* tensor);
  /// All that an access reads, when it does.
  bool IsBefore(const AccessView& view);
  /// An element that nothing writes in some launch.
  std::optional<ElementExample> Hole(const ir::Value* tensor);
  /// An element that an access surely reads and that nothing writes which may come before it.
  std::optional<ElementExample> TooSoon(const ir::Op* op, const ir::Value* memory);
  /// What the launch is to check: the parts are together all from 0 to the size.
  std::vector<std::pair<Parts, Size>> parts() const;

 private:
  struct Asked;
  std::unique_ptr<Asked> asked_;
};

}  // namespace kdl::proofs
