#include "targets/simt/analysis/mma_shapes.h"

#include <algorithm>

#include "ir/module.h"
#include "ir/op_kind.h"
#include "support/scalar.h"
#include "targets/simt/analysis/outer_product.h"
#include "targets/simt/analysis/tensor_tile_factors.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::AxisId;
using ir::LaneMap;

namespace {

/// Returns whether the factor consists of whole panels with rows of 128 bytes, as wgmma reads them.
bool HasWholePanels(const ir::Op* product, size_t factor) {
  constexpr int64_t kRows = 8;          // the number of rows that are swizzled together
  constexpr int64_t kMostExtent = 256;  // the maximum extent along an axis of a tensor tile
  const ir::Function& kernel = *product->parent_region()->function();
  auto extent = [&](AxisId axis) { return kernel.axis(axis).extent->value; };
  const ir::Value* value = ir::NarrowFactor(product->operand(factor));
  int64_t panel = kPanelBytes / Bytes(value->type()->scalar);
  if (std::optional<TensorTileFactor> tensor_tile = TensorTileFactorOf(product, factor))
    return extent(tensor_tile->row) % kRows == 0 && extent(tensor_tile->row) <= kMostExtent &&
           extent(tensor_tile->column) % panel == 0;
  // If threads compute a factor, either axis may be the last one in memory, so the extents of both must suit
  // panels.
  return std::ranges::all_of(value->type()->axes,
                             [&](AxisId axis) { return extent(axis) % panel == 0; });
}

/// Returns whether both factors consist of whole panels, one instruction can compute all columns of the
/// result, and workgroup memory has enough room for the factors.
bool HasWholeTensorTiles(const SimtFacts& facts, const ir::Op* product) {
  constexpr int64_t kMostColumns = 256;  // the maximum number of columns of one instruction
  const ir::Function& kernel = *product->parent_region()->function();
  int64_t of_step = kernel.axis(product->result()->type()->axes[1]).extent->value;
  return HasWholePanels(product, 0) && HasWholePanels(product, 1) && of_step <= kMostColumns &&
         MbarrierOrderedBytes(product) <= facts.workgroup_bytes;
}

/// Returns whether the factors have the types that the instruction requires. If the instruction's two types
/// differ, the first factor must have the rows of the result.
bool HasOwnFactors(const ir::MatrixInstruction& instruction, const ir::Op* product) {
  auto is = [&](size_t factor, kdl::Scalar scalar) {
    return ir::NarrowFactor(product->operand(factor))->type()->scalar == scalar;
  };
  if (!is(0, instruction.a) || !is(1, instruction.b)) return false;
  return instruction.a == instruction.b ||
         (*OuterAxes(product))[0] == product->result()->type()->axes[0];
}

/// Returns whether the terms of each factor that is copied as a tensor tile are contiguous in the tensor.
bool HasTermsSideBySide(const ir::Op* product) {
  return std::ranges::all_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
    std::optional<TensorTileFactor> tensor_tile = TensorTileFactorOf(product, factor);
    return !tensor_tile || tensor_tile->column == product->attr<AttrKey::Axes>()[0];
  });
}

bool Multiplies(const MmaShape& instruction, const ir::Op* product) {
  if (!OuterAxes(product) || product->attr<AttrKey::Axes>().size() != 1) return false;
  if (!ir::Suits(*instruction.instruction, *product) ||
      !HasOwnFactors(*instruction.instruction, product))
    return false;
  return !instruction.instruction->goes_on ||
         ((IsTensorTileProduct(product) || IsIterationProduct(product)) &&
          (!WantsTermsSideBySide(instruction) || HasTermsSideBySide(product)));
}

/// Returns the bytes of the tile that one iteration needs of a factor.
int64_t FactorBytes(const ir::Op* product, size_t factor) {
  const ir::Function& kernel = *product->parent_region()->function();
  const ir::Value* value = ir::NarrowFactor(product->operand(factor));
  int64_t bytes = Bytes(value->type()->scalar);
  for (AxisId axis : value->type()->axes) bytes *= kernel.axis(axis).extent->value;
  return bytes;
}

}  // namespace

int64_t MbarrierOrderedBytes(const ir::Op* product) {
  int64_t bytes = kWorkgroupOfMbarriers;
  for (size_t factor : {0, 1}) {
    int64_t of_iteration = FactorBytes(product, factor);
    bytes += ComesAsTensorTile(product, factor) ? kLeastSlots * of_iteration : of_iteration;
  }
  return bytes;
}

const MmaShape* FindMmaShape(const SimtFacts& facts, const ir::Op* product) {
  auto found = std::ranges::find_if(facts.mma_shapes, [&](const MmaShape& instruction) {
    return Multiplies(instruction, product);
  });
  return found == facts.mma_shapes.end() ? nullptr : &*found;
}

const MmaShape* BestMmaShape(const SimtFacts& facts, const ir::Op* product) {
  auto found = std::ranges::find_if(facts.mma_shapes, [&](const MmaShape& instruction) {
    return Multiplies(instruction, product) && MatrixMap(facts, instruction, product);
  });
  return found == facts.mma_shapes.end() ? nullptr : &*found;
}

const MmaShape* NamedMmaShape(const ir::Op* product) {
  if (!product->HasAttr(AttrKey::Instruction)) return nullptr;
  Name name = product->attr<AttrKey::Instruction>();
  const auto* found = std::ranges::find_if(kMmaShapes, [&](const MmaShape& instruction) {
    return instruction.instruction->name == name.text();
  });
  return found == std::end(kMmaShapes) ? nullptr : found;
}

bool WantsTermsSideBySide(const MmaShape& instruction) {
  return Bytes(instruction.instruction->a) != 2;
}

namespace {

/// Returns the total number of bytes of the results of all products in the kernel.
int64_t MadeBytes(const ir::Function& kernel) {
  int64_t bytes = 0;
  ir::Walk(kernel.body, [&](const ir::Op* op) {
    if (op->kind() != ir::OpKind::Contraction || !OuterAxes(op)) return;
    int64_t of_result = Bytes(op->attr<AttrKey::Acc>());
    for (AxisId axis : op->result()->type()->axes) {
      Size extent = kernel.axis(axis).extent;
      of_result *= extent && extent->kind == SizeKind::Constant ? extent->value : 1;
    }
    bytes += of_result;
  });
  return bytes;
}

}  // namespace

std::optional<LaneMap> MatrixMap(const SimtFacts& facts, const MmaShape& instruction,
                                 const ir::Op* product) {
  const ir::Function& kernel = *product->parent_region()->function();
  auto extent = [&](ir::AxisId axis) { return kernel.axis(axis).extent->value; };
  const ir::AxisList& axes = product->result()->type()->axes;
  int64_t rows = extent(axes[0]);
  int64_t columns = extent(axes[1]);
  bool is_whole = extent(product->attr<AttrKey::Axes>()[0]) % instruction.instruction->depth == 0 &&
                  columns % instruction.columns_together() == 0;
  if (!is_whole || (instruction.instruction->goes_on && !HasWholeTensorTiles(facts, product)))
    return std::nullopt;
  // If a small workgroup cannot hold the results of all of the kernel's products, a large workgroup is used.
  bool small_holds = MadeBytes(kernel) <= facts.threads * instruction.held_bytes;
  for (int64_t threads : {small_holds ? facts.threads : facts.most_threads, facts.most_threads}) {
    for (int64_t groups = threads / instruction.threads; groups >= 1; groups /= 2) {
      bool fits = instruction.instruction->goes_on ? rows == instruction.rows * groups
                                                   : rows % (instruction.rows * groups) == 0;
      if (!fits) continue;
      LaneMap map = {instruction.row, instruction.column};
      map[0].threads *= groups;
      map[0].repeats *= rows / (instruction.rows * groups);
      map[1].repeats *= columns / instruction.columns;
      int64_t held = map[0].held() * map[1].held() * Bytes(instruction.instruction->acc);
      if (held <= instruction.held_bytes) return map;
    }
  }
  return std::nullopt;
}

}  // namespace kdl::simt
