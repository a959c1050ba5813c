#include "codegen/common/compiled.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "ir/attr.h"
#include "support/check.h"
#include "support/scalar.h"

namespace kdl::codegen {

int64_t LocationIndex(KernelCode& code, const TrapLocation& location) {
  auto found = std::find(code.locations.begin(), code.locations.end(), location);
  if (found == code.locations.end()) found = code.locations.insert(found, location);
  return found - code.locations.begin();
}

TrapLocation LocationOf(const ir::Op* op, int32_t code) {
  TrapLocation location;
  ir::Loc loc = op->loc();
  location.file = loc.file;
  location.line = loc.line;
  location.column = loc.column;
  location.code = code;
  if (op->HasAttr(ir::AttrKey::Text)) location.text = op->attr<ir::AttrKey::Text>();
  if (op->HasAttr(ir::AttrKey::Dimension)) {
    location.dimension = static_cast<int32_t>(op->attr<ir::AttrKey::Dimension>());
  }
  return location;
}

int64_t ElementCode(Scalar scalar) {
  struct ElementRow {
    std::string_view spelling;
    int64_t code;
  };
  static constexpr ElementRow kRows[] = {
#define KDL_ELEMENT(ID, spelling, code, bits, comment) {#spelling, code},
#include "kdl/abi.def"
  };
  auto row = std::find_if(std::begin(kRows), std::end(kRows),
                          [&](const ElementRow& r) { return r.spelling == Spelling(scalar); });
  KDL_CHECK(row != std::end(kRows), "{} has no element code", Spelling(scalar));
  return row->code;
}

}  // namespace kdl::codegen
