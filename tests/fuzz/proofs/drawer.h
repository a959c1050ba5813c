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

/// Statements about tensors that they share, each of which is right for some of the constants that it draws, and wrong for
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
  /// An integer parameter that the compiler chooses, to stand as the size of a block.
  std::string Block();
  /// A table of integers that bounds parts of a dimension; launches are given ascending ones, and others.
  std::string Table();
  /// Now and then one that only some launches come to.
  std::string Sync(size_t percent);

  /// A tensor of this shape; what stands there is often shared by several statements.
  std::string Tensor(const std::string& shape, size_t percent_out = 25);

  /// An index made of a binder and of what stands around it.
  std::string Index(const std::string& i, const Texts& around = {});

  /// What a store to the element gives it.
  std::string Right(const std::string& element, const std::string& y, const std::string& i,
                    const Texts& around);

  std::string Store(const std::string& y, const std::string& i, const Texts& around = {});

  /// A condition on the number `i`; few, so that they repeat.
  std::string Condition(const std::string& i);
  std::string ConditionOfMemory(const std::string& i);

  std::string Bound() { return Pick({"N", "N", "N", "M", "N - 1", "N / 2", "4"}); }

  // -- The parts ----------------------------------------------------------------------------------
  /// Several walks, over one domain or not, with and without `sync` between.
  std::string Walks();
  /// Its bounds stand still or change from turn to turn.
  std::string DomainInLoop();
  /// As in a reduction by halves.
  std::string Halving();
  /// Loops that start or end where an outer one stands.
  std::string LoopsAround();
  /// A loop whose turns touch every few elements, from where an outer loop stands.
  std::string Grids();
  std::string Steps();
  std::string Triangle();
  /// All of a square, or its diagonal.
  std::string Square();
  /// Branches that write different elements, as far as their conditions say so.
  std::string Chain();
  std::string Where();
  std::string Strided();
  /// Walks over parts of a dimension that make up the whole.
  std::string Joined();
  std::string View();
  std::string ViewEdges();
  std::string ViewRows();
  std::string Folded();
  std::string Asserted();
  /// Turns that `continue` ends.
  std::string Continued();
  /// Turns of a loop that read what earlier ones have written.
  std::string Recurrence();
  /// A `sync` that not every turn of a loop has.
  std::string Waiting();
  std::string RedBlack();
  std::string Flat();
  /// What stands outside of `spmd for`.
  std::string Cores();
  /// Numbers that each core counts by itself.
  std::string Counted();
  /// Numbers that each core makes by itself, and that blocks read: all cores may have the same, or others.
  std::string Agreed();
  std::string Atomic();
  std::string LaunchTensor();
  /// Loops within a block, over parts of a range and besides it.
  std::string Inner();
  /// Tiles by hand: a scalar a tile, and its elements up to where they end.
  std::string Tiling();
  /// Blocks by number, in a loop that may leave some of them out, and conditions on a number times a size.
  std::string Numbered();
  /// A block that reads elsewhere what it has written.
  std::string Shuffled();
  /// Numbers that go along with a loop, inside of blocks and around them.
  std::string Vars();
  /// Walks on a way that all cores take.
  std::string IfAround();
  std::string Three();
  /// Conditions that nobody knows before: two of them may be one, or each other's opposite.
  std::string Opaque();
  /// Quotients and remainders, which put elements back together or do not.
  std::string Computed();
  std::string PingPong();
  std::string Reduce();
  /// Parts that tables bound: by neighbours in one table, or by where they begin and how long they are.
  std::string Ragged();
  struct Part {
    std::string from;
    std::string to;
  };
  Part TablePart(const std::string& off, const std::string& e);
  std::string DynamicCounter(const Part& part, const std::string& e, const std::string& r);
  /// Walks over a domain of two dimensions, whose bounds may change around them.
  std::string Planes();
  /// Loops whose bounds are those around them, and a `sync` in some of their turns.
  std::string DeepLoops();
  /// Branches of few conditions, of which one hides another.
  std::string Hidden();
  std::string Branches(const Texts& conditions, const std::string& y, const std::string& i,
                       size_t depth);
  /// Numbers at the ends of 64 bits, of which sums and products wrap.
  std::string Extremes();
  /// A number taken apart into a row and a column.
  std::string Divided();
  /// Conditions of numbers that not every launch has.
  std::string Partial();
  /// Sizes times great constants in indices, of which 64 bits hold a part.
  std::string GreatSizes();
  /// Products of sizes that leave 64 bits, as those of tensors without elements may.
  std::string Products();
  /// A number that may be any plus several products, sum by sum.
  std::string Summed(const std::string& i, const std::string& y);
  /// Indices that wrap in a type of few bits.
  std::string Narrow();
  /// Indices that an `if` chooses.
  std::string Choices();
  /// Indices that a table holds, or that its load gives for those outside of it.
  std::string LookedUp();
  /// Constants that `static_assert` limits.
  std::string Statics();
  /// What only some numbers of cores do.
  std::string CoreCounts();
  /// Several kernels in one: what runs at once.
  std::string Stages();

  std::mt19937_64 random_;
  DrawnKernel drawn_;
  std::map<std::string, std::string> tensors_;
  std::string views_;
  std::set<std::string> blocks_;
  std::set<std::string> scalars_;  ///< besides s and u
  size_t names_ = 0;
  size_t loops_ = 0;  ///< of the part that is drawn
};

}  // namespace kdl::fuzz
