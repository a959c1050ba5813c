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

/// Generates statements about shared tensors. Each statement is correct for some random constants and wrong
/// for others.
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
  /// Returns an integer parameter for use as a block size. The compiler chooses its value.
  std::string Block();
  /// Returns a table of integers that are bounds of parts of a dimension. Launches mostly use ascending
  /// tables.
  std::string Table();
  /// Returns a `sync`. In some cases, whether it is reached depends on the launch.
  std::string Sync(size_t percent);

  /// Returns a tensor of this shape. Several statements often share it.
  std::string Tensor(const std::string& shape, size_t percent_out = 25);

  /// Returns an index computed from the loop variable `i` and the values in `around`.
  std::string Index(const std::string& i, const Texts& around = {});

  /// Returns an expression for the value that is stored to `element`.
  std::string Right(const std::string& element, const std::string& y, const std::string& i,
                    const Texts& around);

  std::string Store(const std::string& y, const std::string& i, const Texts& around = {});

  /// Returns a condition on the number `i`. There are only a few conditions, so that they repeat.
  std::string Condition(const std::string& i);
  std::string ConditionOfMemory(const std::string& i);

  std::string Bound() { return Pick({"N", "N", "N", "M", "N - 1", "N / 2", "4"}); }

  // -- Each of these functions generates one part of a kernel -------------------------------------
  /// Generates several `spmd for` loops over the same or different domains, with and without `sync` between
  /// them.
  std::string Walks();
  /// Generates `spmd for` loops in a loop. Their bounds are constant or change from iteration to iteration.
  std::string DomainInLoop();
  /// Generates a loop that shrinks the bound of `spmd for` in each iteration, as a reduction by halves does.
  std::string Halving();
  /// Generates loops that start or end at the index of an outer loop.
  std::string LoopsAround();
  /// Generates a loop that accesses every n-th element, starting at the index of an outer loop.
  std::string Grids();
  std::string Steps();
  std::string Triangle();
  /// Generates stores to all elements of a square, or to its diagonal.
  std::string Square();
  /// Generates branches that write different elements if their conditions exclude each other.
  std::string Chain();
  std::string Where();
  std::string Strided();
  /// Generates `spmd for` loops over parts of a dimension that together cover it.
  std::string Joined();
  std::string View();
  std::string ViewEdges();
  std::string ViewRows();
  /// Generates stores to a tensor and to a view of it that has as many dimensions, but other sizes.
  std::string ViewTurned();
  std::string Folded();
  std::string Asserted();
  /// Generates a loop in which `continue` ends some iterations.
  std::string Continued();
  /// Generates a loop whose iterations read what earlier iterations have written.
  std::string Recurrence();
  /// Generates a loop in which only some iterations reach a `sync`.
  std::string Waiting();
  std::string RedBlack();
  std::string Flat();
  /// Generates statements outside `spmd for`.
  std::string Cores();
  /// Generates counters that each core increments for itself.
  std::string Counted();
  /// Generates numbers that each core computes for itself, and blocks that read these numbers. The numbers
  /// may differ between cores.
  std::string Agreed();
  std::string Atomic();
  std::string LaunchTensor();
  /// Generates loops within a block, over parts of a range and over elements next to it.
  std::string Inner();
  /// Generates tiling by hand: an outer loop over the starts of tiles, and an inner loop over the elements of
  /// a tile.
  std::string Tiling();
  /// Generates a loop over the numbers of blocks, which may skip some of them, and conditions on a block's
  /// number times a size.
  std::string Numbered();
  /// Generates a block that writes elements and reads them at other indices.
  std::string Shuffled();
  /// Generates variables that are updated in each iteration of a loop, inside blocks and around them.
  std::string Vars();
  /// Generates `spmd for` loops in a branch that all cores take.
  std::string IfAround();
  std::string Three();
  /// Generates conditions that are unknown at compile time. Two of them may be equal or opposite.
  std::string Opaque();
  /// Generates quotients and remainders, which may or may not reconstruct an index.
  std::string Computed();
  std::string PingPong();
  std::string Reduce();
  /// Generates parts bounded by tables: by neighbouring values of one table, or by starts and lengths.
  struct Part {
    std::string from;
    std::string to;
  };
  std::string ShiftPart(Part& part, const std::string& e);
  std::string Ragged();
  Part TablePart(const std::string& off, const std::string& e);
  /// Generates parts of the rows of a tensor, whose bounds are in a table with a row for each of them.
  std::string Batched();
  /// Generates parts of a tensor whose numbers are those of other parts.
  std::string PartsOfParts();
  std::string RowPart(const std::string& y, const std::string& b, const std::string& e);
  std::string UnrelatedAssert(const Part& part, const std::string& e, const std::string& r);
  /// Generates `spmd for` loops over a two-dimensional domain. An outer loop may change the bounds
  /// of the domain.
  std::string Planes();
  /// Generates nested loops whose bounds depend on enclosing loops. Some of their iterations reach a
  /// `sync`.
  std::string DeepLoops();
  /// Generates nested branches that test only a few conditions, so that an outer test may decide an inner
  /// one.
  std::string Hidden();
  std::string Branches(const Texts& conditions, const std::string& y, const std::string& i,
                       size_t depth);
  /// Generates numbers near the limits of 64 bits, whose sums and products wrap.
  std::string Extremes();
  /// Generates a number split into a row and a column.
  std::string Divided();
  /// Generates conditions on values that are undefined in some launches.
  std::string Partial();
  /// Generates sizes times large constants in indices, which may overflow 64 bits.
  std::string GreatSizes();
  /// Generates products of sizes that overflow 64 bits, which is possible in tensors without elements.
  std::string Products();
  /// Generates an arbitrary number plus several products, added one by one.
  std::string Summed(const std::string& i, const std::string& y);
  /// Generates indices that wrap in a narrow type.
  std::string Narrow();
  /// Generates indices chosen by an `if`.
  std::string Choices();
  /// Generates indices loaded from a table. Outside the table, the load's default is used.
  std::string LookedUp();
  /// Generates a tensor whose size a `where` compares with a product or sum of other sizes.
  std::string Stated();
  /// Generates reads that are in bounds only for some sizes, which is checked before a launch.
  std::string Reaching();
  /// Generates multiples of an integer parameter that may be negative.
  std::string Falling();
  /// Generates a loop that writes two outputs, one of them perhaps only in part.
  std::string Pair();
  /// Generates constants limited by `static_assert`.
  std::string Statics();
  /// Generates statements that are only executed for some numbers of cores.
  std::string CoreCounts();
  /// Generates several stages in one kernel, which run at the same time.
  std::string Stages();
  /// Generates stages without blocks, in which each core pops a number of its own.
  std::string CoreStages();

  std::mt19937_64 random_;
  DrawnKernel drawn_;
  std::map<std::string, std::string> tensors_;
  std::string views_;
  std::string where_;  ///< the `where` of the kernel
  std::set<std::string> blocks_;
  std::set<std::string> scalars_;  ///< parameters other than s and u
  size_t names_ = 0;
  size_t loops_ = 0;  ///< number of loops in the current part
};

}  // namespace kdl::fuzz
