#include "codegen/orchestration/launch_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "ir/attr.h"
#include "ir/module.h"
#include "ir/op.h"
#include "support/check.h"
#include "support/names.h"
#include "support/scalar.h"

namespace kdl::codegen {

namespace {

bool SameElements(const ir::Function& a, const ir::Function& b) {
  return std::equal(a.params.begin(), a.params.end(), b.params.begin(), b.params.end(),
                    [](const ir::Param& x, const ir::Param& y) {
                      return x.value->type()->scalar == y.value->type()->scalar;
                    });
}

/// Returns whether the name must include the types to distinguish the kernel from others.
bool NeedsTypes(const ir::Module& module, const ir::Function& kernel, TypeNames types) {
  auto bound_alike = [](const ir::TypeBinding& a, const ir::TypeBinding& b) {
    return a.scalar == b.scalar;
  };
  return std::any_of(
      module.functions().begin(), module.functions().end(), [&](const ir::Function* other) {
        return other->kind == ir::FunctionKind::Kernel &&
               other->base_name() == kernel.base_name() &&
               (types == TypeNames::WhereSeveral || SameElements(*other, kernel)) &&
               !std::equal(other->bindings.begin(), other->bindings.end(), kernel.bindings.begin(),
                           kernel.bindings.end(), bound_alike);
      });
}

}  // namespace

std::string LaunchName(const ir::Module& module, std::string_view runtime_name,
                       const ir::Op* launch, TypeNames types) {
  Name callee = launch->attr<ir::AttrKey::Callee>();
  const ir::Function* kernel = module.FindFunction(callee);
  KDL_CHECK(kernel, "'{}' is launched, but is not in the module", callee.text());
  std::string constants;
  if (NeedsTypes(module, *kernel, types)) {
    for (const ir::TypeBinding& binding : kernel->bindings) {
      constants += fmt::format("{}{}={}", constants.empty() ? "" : ", ", binding.name.text(),
                               Spelling(binding.scalar));
    }
  }
  if (launch->HasAttr(ir::AttrKey::Constants)) {
    std::string_view named = launch->attr<ir::AttrKey::Constants>().text();
    constants += fmt::format("{}{}", constants.empty() || named.empty() ? "" : ", ", named);
  }
  std::string name = fmt::format("{}.{}", runtime_name, kernel->base_name());
  return constants.empty() ? name : fmt::format("{}<{}>", name, constants);
}

}  // namespace kdl::codegen
