#include "targets/simt/matrix_units.h"

#include <algorithm>

#include "ir/module.h"
#include "support/scalar.h"
#include "targets/simt/box_product.h"
#include "targets/simt/outer_product.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::LaneMap;

namespace {

/// Whether blocks of the factors are boxes in panels of 128 bytes, as wgmma reads them, and near memory holds some turns'.
bool HasWholeBoxes(const SimtFacts& facts, const ir::Op* product) {
  constexpr int64_t kPanelBytes = 128;
  constexpr int64_t kRows = 8;          // that are swizzled together
  constexpr int64_t kMostExtent = 256;  // of a box, and of a step's columns
  const ir::Function& kernel = *product->block()->function();
  int64_t turn_bytes = 0;
  for (size_t factor : {0, 1}) {
    std::optional<BoxFactor> box = BoxFactorOf(product, factor);
    if (!box) return false;
    int64_t rows = kernel.axis(box->row).extent->value;
    int64_t columns = kernel.axis(box->column).extent->value;
    int64_t bytes = Bytes(ir::NarrowFactor(product->operand(factor))->type()->scalar);
    if (rows % kRows != 0 || rows > kMostExtent || columns * bytes % kPanelBytes != 0) return false;
    turn_bytes += rows * columns * bytes;
  }
  int64_t of_step = kernel.axis(product->result()->type()->axes[1]).extent->value;
  return of_step <= kMostExtent && kLeastSlots * turn_bytes + kNearOfGates <= facts.near_bytes;
}

}  // namespace

namespace {

/// Whether the factors are the unit's as they are, that of the result's rows the first one's.
bool HasOwnFactors(const ir::Unit& unit, const ir::Op* product) {
  auto is = [&](size_t factor, kdl::Scalar scalar) {
    return ir::NarrowFactor(product->operand(factor))->type()->scalar == scalar;
  };
  if (!is(0, unit.a) || !is(1, unit.b)) return false;
  return unit.a == unit.b || (*OuterAxes(product))[0] == product->result()->type()->axes[0];
}

/// Whether terms are side by side in both factors' tensors.
bool HasTermsSideBySide(const ir::Op* product) {
  return std::ranges::all_of(std::initializer_list<size_t>{0, 1}, [&](size_t factor) {
    return BoxFactorOf(product, factor)->column == product->attr<AttrKey::Axes>()[0];
  });
}

bool Multiplies(const MatrixUnit& unit, const ir::Op* product) {
  if (!OuterAxes(product) || product->attr<AttrKey::Axes>().size() != 1) return false;
  if (!ir::Suits(*unit.unit, *product) || !HasOwnFactors(*unit.unit, product)) return false;
  return !unit.unit->goes_on ||
         (IsBoxProduct(product) && (!WantsTermsSideBySide(unit) || HasTermsSideBySide(product)));
}

}  // namespace

const MatrixUnit* FindMatrixUnit(const SimtFacts& facts, const ir::Op* product) {
  auto found = std::ranges::find_if(
      facts.matrix_units, [&](const MatrixUnit& unit) { return Multiplies(unit, product); });
  return found == facts.matrix_units.end() ? nullptr : &*found;
}

const MatrixUnit* BestMatrixUnit(const SimtFacts& facts, const ir::Op* product) {
  auto found = std::ranges::find_if(facts.matrix_units, [&](const MatrixUnit& unit) {
    return Multiplies(unit, product) && MatrixMap(facts, unit, product);
  });
  return found == facts.matrix_units.end() ? nullptr : &*found;
}

const MatrixUnit* NamedMatrixUnit(const ir::Op* product) {
  if (!product->HasAttr(AttrKey::Unit)) return nullptr;
  Name name = product->attr<AttrKey::Unit>();
  const auto* found = std::ranges::find_if(
      kMatrixUnits, [&](const MatrixUnit& unit) { return unit.unit->name == name.text(); });
  return found == std::end(kMatrixUnits) ? nullptr : found;
}

bool WantsTermsSideBySide(const MatrixUnit& unit) { return Bytes(unit.unit->a) == 1; }

std::optional<LaneMap> MatrixMap(const SimtFacts& facts, const MatrixUnit& unit,
                                 const ir::Op* product) {
  const ir::Function& kernel = *product->block()->function();
  auto extent = [&](ir::AxisId axis) { return kernel.axis(axis).extent->value; };
  const ir::AxisList& axes = product->result()->type()->axes;
  int64_t rows = extent(axes[0]);
  int64_t columns = extent(axes[1]);
  bool is_whole = extent(product->attr<AttrKey::Axes>()[0]) % unit.unit->depth == 0 &&
                  columns % unit.columns_together() == 0;
  if (!is_whole || (unit.unit->goes_on && !HasWholeBoxes(facts, product))) return std::nullopt;
  for (int64_t workers : {facts.workers, facts.most_workers}) {
    for (int64_t groups = workers / unit.workers; groups >= 1; groups /= 2) {
      bool fits =
          unit.unit->goes_on ? rows == unit.rows * groups : rows % (unit.rows * groups) == 0;
      if (!fits) continue;
      LaneMap map = {unit.row, unit.column};
      map[0].workers *= groups;
      map[0].repeats *= rows / (unit.rows * groups);
      map[1].repeats *= columns / unit.columns;
      int64_t held = map[0].held() * map[1].held() * Bytes(unit.unit->acc);
      if (held <= unit.held_bytes) return map;
    }
  }
  return std::nullopt;
}

}  // namespace kdl::simt
