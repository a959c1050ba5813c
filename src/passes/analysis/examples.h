#pragma once

#include <functional>
#include <string>
#include <vector>

#include "passes/analysis/races.h"

namespace kdl::passes {

/// Sizes of launches in which to look for an example: first of any size, with numbers for int generics alone, then small
/// ones; each meets what the launch requires.
std::vector<Sizes> LaunchesToTry(const ir::Function& function);

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

/// A store that surely names an element twice.
struct TwiceExample {
  std::string element;
  std::string first;  ///< `i = 0, j = 1`
  std::string second;
};

/// An element of which something is surely said in some launch.
struct ElementExample {
  std::string element;
  std::string sizes;
};

/// A run of an access whose index is outside.
struct IndexExample {
  int64_t index;
  std::string at;  ///< ` at i = 0, j = 1`; empty where nothing counts
  std::string sizes;
};

/// Examples of mistakes, for the messages. Each is asked of launches whose constants are numbers, so that blocks are exact, and
/// of accesses alone that happen whatever the data is.
class Examples {
 public:
  Examples(const ir::Function& kernel, ir::TypeTable& types) : kernel_(kernel), types_(types) {}

  std::optional<RaceExample> RaceOn(const ir::Value* memory);
  std::optional<TwiceExample> TwiceBy(const ir::Op* store);
  /// The least element of a set that `ask` makes of the memory's elements.
  std::optional<ElementExample> ElementOf(const ir::Value* memory,
                                          const std::function<PointSet(Races&, Instances&)>& ask);
  /// The least run in which the index of a dimension is below 0, or beyond its end.
  std::optional<IndexExample> Outside(const AccessView& view, size_t dim, bool above);

 private:
  struct Launch {
    SetContext context;
    Instances instances;
    Races races;
    Launch(const ir::Function& kernel, ir::TypeTable& types, const Sizes& known)
        : instances(context, kernel, types, known), races(instances), known(known) {}
    Sizes known;
  };
  std::vector<std::unique_ptr<Launch>>& Launches();
  std::optional<RaceExample> InWords(Launch& launch, const Race& race);
  PointSet OfNumbers(Launch& launch) const;
  std::string BlockText(Launch& launch, const Site& site, const Point& point, bool second) const;
  std::string TurnText(Launch& launch, const Site& site, const Point& point, bool second) const;
  std::string CountsText(Launch& launch, const AccessView& view, const Point& point) const;
  std::string SizesText(Launch& launch, const Point& point) const;
  std::string ElementText(Launch& launch, const ir::Value* memory, const Point& point) const;
  std::vector<std::string> Order(Launch& launch) const;

  const ir::Function& kernel_;
  ir::TypeTable& types_;
  std::vector<std::unique_ptr<Launch>> launches_;
};

}  // namespace kdl::passes
