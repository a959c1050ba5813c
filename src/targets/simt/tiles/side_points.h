#pragma once

#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "targets/simt/facts.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Tensors whose rows all begin at a multiple of so many elements: facts of a launch, found before all else.
class AlignedRows {
 public:
  explicit AlignedRows(ir::Builder& b) : b_(b) {}

  ir::Value* Of(ir::Value* tensor, int64_t lanes);

 private:
  ir::Value* Find(ir::Value* tensor, int64_t lanes);

  ir::Builder& b_;
  std::map<std::pair<const ir::Value*, int64_t>, ir::Value*> known_;  ///< of parameters
};

/// What expands a elementwise loop's ops point by point.
struct PointMaker {
  ir::ValueMap& scalars;  ///< old scalar -> new, of the present point
  std::unordered_map<const ir::Value*, ir::Value*>&
      places;  ///< new index -> from its block's start
  std::function<void(ir::Op*)> expand;
};

/// Points of a elementwise loop that are side by side along its last axis, as many as an access takes at once, of one worker, where there are
/// many: what they load and store side by side goes together, all else is done point by point. Loops that all of them take alike
/// are one: four lanes of a fold are a worker's likewise. That is so where the block has whole parts and, but where a machine takes
/// vectors anywhere, each row of each tensor begins at a multiple of them. Vectors of tensors come from nowhere else.
class SidePoints {
 public:
  using Values = passes::Values;

  SidePoints(const SimtFacts& facts, ir::Builder& b, WorkgroupTiles& tiles, AlignedRows& rows,
             const ir::Op* elementwise, PointMaker maker);

  /// How many points are taken at once; 1: none are.
  int64_t count() const { return count_; }
  /// Whether the block as it is allows it: whole parts, each of which is aligned in every tensor.
  ir::Value* Fits();
  /// What the elementwise loop yields of the points from the place on, each a value for each of them.
  std::vector<Values> Make(const Values& place);
  /// Stores such values of a tile.
  void Store(const Values& values, const ir::Value* tile, ir::Value* buffer, const Values& place);

 private:
  /// Of an index that counts along with the points: its distance from the start of a block of the axis, at the first of them.
  struct Along {
    ir::AxisId axis;
    ir::Value* place = nullptr;
  };

  void Study(const ir::Region* region);
  bool StudyOp(const ir::Op* op);
  bool StudyLoop(const ir::Op* loop);
  bool StudyAccess(const ir::Op* access);
  bool TakesElements(const ir::Op* element) const;
  bool IsSame(const ir::Value* value) const { return !varying_.contains(value); }
  int64_t BestCount(int64_t threads) const;
  bool LiesInRows(const ir::Value* tile) const;

  void SetOf(const ir::Op* op, size_t point);
  void Run(const ir::Region* region);
  void RunOp(ir::Op* op);
  void RunLoop(const ir::Op* loop);
  void Load(const ir::Op* op);
  void Elements(const ir::Op* op);
  void StoreGlobal(const ir::Op* op);
  Values Parts(ir::Value* vector);
  ir::Value* Plus(ir::Value* value, size_t number);
  Values OfAll(const ir::Value* old) const;

  const SimtFacts& facts_;
  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  AlignedRows& rows_;
  const ir::Op* elementwise_;
  PointMaker maker_;
  ir::AxisId last_;
  const ir::Value* last_param_;
  bool fits_ = true;   ///< nothing in the elementwise loop forbids it
  int64_t bytes_ = 0;  ///< the most that an element of those has that go together
  int64_t count_ = 1;
  std::unordered_set<const ir::Value*> varying_;  ///< old values that may be another at each point
  std::unordered_map<const ir::Value*, Along> along_;
  /// Loops that begin at the points, from the start of a block on, and end where that does.
  std::vector<std::pair<const ir::Op*, const ir::Value*>> begins_;
  std::vector<const ir::Op*> global_;                  ///< loads and stores that go together
  std::unordered_map<const ir::Value*, Values> made_;  ///< old value -> at each point
};

}  // namespace kdl::simt
