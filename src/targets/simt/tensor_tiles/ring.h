#pragma once

#include <functional>

#include "targets/simt/analysis/tensor_tile_factors.h"
#include "targets/simt/tiles/workgroup_tiles.h"

namespace kdl::simt {

/// Gives the code that expands one iteration of a loop access to the state of the expansion of the whole
/// kernel.
struct IterationMaker {
  ir::ValueMap& scalars;                ///< maps old scalars and tensors to new ones
  std::function<void(ir::Op*)> expand;  ///< expands an op whose results are blocks or scalars

  ir::Value* Scalar(const ir::Value* old) const;
};

/// The mbarriers of a ring buffer, one for each slot. Each iteration that uses a slot is a phase of the
/// slot's mbarrier.
class SlotMbarriers {
 public:
  SlotMbarriers(ir::Builder& b, int64_t slots) : b_(b), slots_(slots) {}

  int64_t slots() const { return slots_; }
  ir::Value* New(std::string_view name);
  void Open(ir::Value* mbarriers, int64_t arrivals);
  void Close(ir::Value* mbarriers);
  ir::Value* SlotForIteration(ir::Value* iteration);
  /// Waits for the phase that iteration `iteration` completes.
  void Await(ir::Value* mbarriers, ir::Value* iteration);
  void Arrive(ir::Value* mbarriers, ir::Value* iteration);

 private:
  ir::Builder& b_;
  int64_t slots_;
};

/// A ring buffer for one factor of a product. Normally, a tile copy fetches each tile. If the tensor's
/// memory layout, or a range that ends before the tensor does, makes that impossible, threads copy the tile's
/// elements. The blocks and scalars in scope must be those of the iteration that needs the tile.
class TensorTileRing {
 public:
  using Values = passes::Values;

  TensorTileRing(ir::Builder& b, WorkgroupTiles& tiles, const IterationMaker& iteration,
                 const ir::Op* product, size_t factor);

  const TensorTileFactor& tensor_tile() const { return tensor_tile_; }
  /// Returns the number of bytes in a slot.
  int64_t bytes() const;
  ir::Value* New(int64_t slots);
  ir::Value* ring() const { return ring_; }
  /// Fetches the factor that iteration `number` needs, and signals the iteration's mbarrier in `full`. Before
  /// a tile copy, the first thread executes `before_tensor_tile`. Before copies of elements, all threads
  /// execute `await_free`, which waits until the slot is free.
  void Bring(SlotMbarriers& mbarriers, ir::Value* full, ir::Value* number, int64_t threads,
             const std::function<void()>& before_tensor_tile,
             const std::function<void()>& await_free);

 private:
  ir::Value* Fits();
  void FillSlot(ir::Value* slot, ir::Value* full);
  void CopyElements(ir::Value* slot, int64_t threads);
  ir::Value* ElementAt(ir::Value* row, ir::Value* column);
  Values StartPoint();
  Values IndexAt(const Values& point);
  ir::Value* Tensor() const;
  ir::Attr Along() const;
  kdl::Scalar scalar() const;

  ir::Builder& b_;
  WorkgroupTiles& tiles_;
  const IterationMaker& iteration_;
  const ir::Op* product_;
  ir::Value* factor_;
  TensorTileFactor tensor_tile_;
  ir::Value* ring_ = nullptr;
};

}  // namespace kdl::simt
