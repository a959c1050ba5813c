#include "codegen/common/compiled.h"

#include <algorithm>

#include "ir/attr.h"
#include "kdl/kernel_abi.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

TrapLocation CallLocation(const ir::CallSite& call) {
  TrapLocation location;
  location.file = call.at.file;
  location.line = call.at.line;
  location.column = call.at.column;
  location.code = KDL_LOCATION_CALL;
  location.call = call.at.call;
  return location;
}

}  // namespace

int64_t LocationIndex(KernelCode& code, TrapLocation location) {
  if (location.call)
    location.caller = static_cast<int32_t>(1 + LocationIndex(code, CallLocation(*location.call)));
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
  if (code != 0) location.call = loc.call;
  if (op->HasAttr(ir::AttrKey::Text)) location.text = op->attr<ir::AttrKey::Text>();
  if (op->HasAttr(ir::AttrKey::Dimension)) {
    location.dimension = static_cast<int32_t>(op->attr<ir::AttrKey::Dimension>());
  }
  return location;
}

int64_t ElementCode(Scalar scalar) { return Info(scalar).code; }

}  // namespace kdl::codegen
