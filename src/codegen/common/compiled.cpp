#include "codegen/common/compiled.h"

#include <algorithm>

#include "ir/attr.h"
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

int64_t ElementCode(Scalar scalar) { return Info(scalar).code; }

}  // namespace kdl::codegen
