#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "draw_kernel.h"

namespace kdl::fuzz {

using Texts = std::vector<std::string>;

/// Draws statements about shared tensors. Each is correct for some of the random constants and wrong for
/// others.
class Drawer {
 public:
  explicit Drawer(uint64_t seed) : random_(seed) {}

  DrawnKernel Draw();

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t percent) { return Below(100) < percent; }
  std::string Pick(const Texts& list) { return list[Below(list.size())]; }
  std::string Number(int64_t least, int64_t most);
  std::string Name(std::string_view letter) { return fmt::format("{}{}", letter, names_++); }
  std::string By();
  /// Returns an integer parameter that the compiler chooses, for use as a block size.
  std::string Block();
  /// Returns a table of integers that bounds parts of a dimension. Launches use mostly ascending tables.
  std::string Table();
  /// Returns a `sync`, sometimes one that only some launches reach.
  std::string Sync(size_t percent);

  /// Returns a tensor of this shape, which several statements often share.
  std::string Tensor(const std::string& shape, size_t percent_out = 25);

  /// Returns an index made from a binder and surrounding values.
  std::string Index(const std::string& i, const Texts& around = {});

  /// Returns the value for a store to the element.
  std::string Right(const std::string& element, const std::string& y, const std::string& i,
                    const Texts& around);

  std::string Store(const std::string& y, const std::string& i, const Texts& around = {});

  /// Returns a condition on the number `i`. There are only a few, so that they repeat.
  std::string Condition(const std::string& i);
  std::string ConditionOfMemory(const std::string& i);

  std::string Bound() { return Pick({"N", "N", "N", "M", "N - 1", "N / 2", "4"}); }

  // -- The parts ----------------------------------------------------------------------------------
  /// Several `spmd for` loops, over the same domain or not, with and without `sync` in between.
  std::string Walks();
  /// Bounds that are constant or change from iteration to iteration.
  std::string DomainInLoop();
  /// Like a reduction by halves.
  std::string Halving();
  /// Loops that start or end at the index of an outer loop.
  std::string LoopsAround();
  /// A loop that accesses every few elements, starting at the index of an outer loop.
  std::string Grids();
  std::string Steps();
  std::string Triangle();
  /// All of a square, or its diagonal.
  std::string Square();
  /// Branches that write different elements if their conditions exclude each other.
  std::string Chain();
  std::string Where();
  std::string Strided();
  /// `spmd for` loops over parts of a dimension that together cover it.
  std::string Joined();
  std::string View();
  std::string ViewEdges();
  std::string ViewRows();
  std::string Folded();
  std::string Asserted();
  /// Iterations that `continue` ends.
  std::string Continued();
  /// Loop iterations that read what earlier ones have written.
  std::string Recurrence();
  /// A `sync` in only some iterations of a loop.
  std::string Waiting();
  std::string RedBlack();
  std::string Flat();
  /// Statements outside `spmd for`.
  std::string Cores();
  /// Numbers that each core counts by itself.
  std::string Counted();
  /// Numbers that each core computes by itself and that blocks read. They may or may not be the same on all
  /// cores.
  std::string Agreed();
  std::string Atomic();
  std::string LaunchTensor();
  /// Loops within a block, over parts of a range and next to it.
  std::string Inner();
  /// Tiling by hand: a scalar for each tile, and its elements up to the end.
  std::string Tiling();
  /// Blocks selected by number, in a loop that may skip some, and conditions on a number times a size.
  std::string Numbered();
  /// A block that reads elsewhere what it has written.
  std::string Shuffled();
  /// Variables that change along with a loop, inside blocks and around them.
  std::string Vars();
  /// `spmd for` loops on a path that all cores take.
  std::string IfAround();
  std::string Three();
  /// Unknown conditions, two of which may be equal or opposite.
  std::string Opaque();
  /// Quotients and remainders, which may or may not reconstruct an index.
  std::string Computed();
  std::string PingPong();
  std::string Reduce();
  /// Parts bounded by tables: by neighbours in one table, or by starts and lengths.
  std::string Ragged();
  struct Part {
    std::string from;
    std::string to;
  };
  Part TablePart(const std::string& off, const std::string& e);
  std::string DynamicCounter(const Part& part, const std::string& e, const std::string& r);
  /// `spmd for` loops over a domain of two dimensions, whose bounds may change around them.
  std::string Planes();
  /// Loops whose bounds are those of enclosing loops, with a `sync` in some of their iterations.
  std::string DeepLoops();
  /// Branches with few conditions, one of which shadows another.
  std::string Hidden();
  std::string Branches(const Texts& conditions, const std::string& y, const std::string& i,
                       size_t depth);
  /// Numbers near the limits of 64 bits, whose sums and products wrap.
  std::string Extremes();
  /// A number split into a row and a column.
  std::string Divided();
  /// Conditions on numbers that not every launch has.
  std::string Partial();
  /// Sizes times large constants in indices, which may overflow 64 bits.
  std::string GreatSizes();
  /// Products of sizes that overflow 64 bits, as tensors without elements may have.
  std::string Products();
  /// An arbitrary number plus several products, added one by one.
  std::string Summed(const std::string& i, const std::string& y);
  /// Indices that wrap in a narrow type.
  std::string Narrow();
  /// Indices chosen by an `if`.
  std::string Choices();
  /// Indices loaded from a table, or given by the load's default outside it.
  std::string LookedUp();
  /// Constants limited by `static_assert`.
  std::string Statics();
  /// Statements that are only executed for some numbers of cores.
  std::string CoreCounts();
  /// Several stages in one kernel, which run at the same time.
  std::string Stages();

  std::mt19937_64 random_;
  DrawnKernel drawn_;
  std::map<std::string, std::string> tensors_;
  std::string views_;
  std::set<std::string> blocks_;
  std::set<std::string> scalars_;  ///< besides s and u
  size_t names_ = 0;
  size_t loops_ = 0;  ///< loops in the current part
};

}  // namespace kdl::fuzz
