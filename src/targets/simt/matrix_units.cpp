#include "targets/simt/matrix_units.h"

#include <algorithm>

#include "ir/module.h"
#include "support/scalar.h"
#include "targets/simt/outer_product.h"

namespace kdl::simt {

using ir::AttrKey;
using ir::LaneMap;

const MatrixUnit* FindMatrixUnit(const SimtFacts& facts, const ir::Op* product) {
  if (!OuterAxes(product) || product->attr<AttrKey::Axes>().size() != 1) return nullptr;
  auto suits = [&](const MatrixUnit& unit) { return ir::Suits(*unit.unit, *product); };
  auto found = std::ranges::find_if(facts.matrix_units, suits);
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
  if (!is_whole) return std::nullopt;
  for (int64_t workers : {facts.workers, facts.most_workers}) {
    for (int64_t groups = workers / unit.workers; groups >= 1; groups /= 2) {
      if (rows % (unit.rows * groups) != 0) continue;
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
