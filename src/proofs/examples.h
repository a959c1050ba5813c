#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proofs/proofs.h"
#include "proofs/races.h"

namespace kdl::proofs {

/// Returns the sizes of launches in which to look for an example. The first entry fixes only the int generics
/// and leaves the sizes open; the others have small sizes. All of them satisfy the requirements of the
/// launch.
std::vector<Sizes> LaunchesToTry(const ir::Function& function);

/// Finds examples of mistakes for error messages. Considers only launches whose int generics have values, so
/// that the bounds of blocks are exact, and only accesses that are executed regardless of the data.
class Examples {
 public:
  Examples(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits)
      : kernel_(kernel), types_(types), limits_(limits) {}

  std::optional<RaceExample> RaceOn(const ir::Value* memory);
  std::optional<TwiceExample> TwiceBy(const ir::Op* store);
  /// Returns the lexicographically least element of the memory in the set that `ask` computes.
  std::optional<ElementExample> LeastElement(
      const ir::Value* memory, const std::function<PointSet(Races&, Instances&)>& ask);
  /// Returns an execution, with the least possible values, in which the index of dimension `dim` is below 0
  /// or, if `above` is true, beyond the end of the dimension.
  std::optional<IndexExample> Outside(const AccessView& view, size_t dim, bool above);

 private:
  struct Launch {
    SetContext context;
    Instances instances;
    Races races;
    Launch(const ir::Function& kernel, ir::TypeTable& types, const Limits& limits,
           const Sizes& known)
        : context(limits.steps),
          instances(context, kernel, types, known),
          races(instances),
          known(known) {}
    Sizes known;
  };
  std::vector<std::unique_ptr<Launch>>& Launches();
  std::optional<RaceExample> InWords(Launch& launch, const Race& race);
  PointSet NonNegativeNumbers(Launch& launch) const;
  std::string BlockText(Launch& launch, const Site& site, const Point& point, bool second) const;
  std::string IterationText(Launch& launch, const Site& site, const Point& point,
                            bool second) const;
  std::string CountsText(Launch& launch, const AccessView& view, const Point& point) const;
  std::string SizesText(Launch& launch, const Point& point) const;
  std::string ElementText(Launch& launch, const ir::Value* memory, const Point& point) const;
  std::optional<Point> LeastPoint(Launch& launch, const PointSet& set,
                                  bool begins_with_second = false) const;

  const ir::Function& kernel_;
  ir::TypeTable& types_;
  Limits limits_;
  std::vector<std::unique_ptr<Launch>> launches_;
};

}  // namespace kdl::proofs
