#include "codegen/common/size_operation.h"

#include <fmt/format.h>

namespace kdl::codegen {

std::string SizeOperation(SizeKind kind, std::string_view a, std::string_view b,
                          const std::function<std::string(std::string_view name)>& function) {
  switch (kind) {
    case SizeKind::Add:
      return fmt::format("({} + {})", a, b);
    case SizeKind::Sub:
      return fmt::format("({} - {})", a, b);
    case SizeKind::Mul:
      return fmt::format("({} * {})", a, b);
    case SizeKind::FloorDiv:
      return fmt::format("{}({}, {})", function("div"), a, b);
    case SizeKind::Mod:
      return fmt::format("{}({}, {})", function("rem"), a, b);
    default:
      return fmt::format("{}({}, {})", function("min"), a, b);
  }
}

}  // namespace kdl::codegen
