#include "driver/run/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "driver/run/executor.h"
#include "passes/fusion/unfused_name.h"
#include "targets/kinds.h"

namespace kdl::driver {

std::string ReferenceFor(const RunPlace& place, const std::string& spec) {
  kdl_device* device = nullptr;
  if (spec.empty() || !StatusOf(kdl_select_device(place.context, spec.c_str(), &device)).ok())
    return std::string(targets::kReferenceKind);
  kdl_device_facts facts = {};
  facts.size = sizeof facts;
  if (!StatusOf(kdl_device_get_facts(device, &facts)).ok())
    return std::string(targets::kReferenceKind);
  return fmt::format("{}?features={}&cores={}", targets::kReferenceKind, facts.features,
                     facts.cores);
}

const ir::Function& DefiningProgram(const ir::Module& module, const ir::Function& program) {
  std::string unfused = passes::UnfusedName(program.name.text());
  auto found = std::ranges::find_if(module.functions(), [&](const ir::Function* function) {
    return function->name.text() == unfused;
  });
  return found == module.functions().end() ? program : **found;
}

}  // namespace kdl::driver
