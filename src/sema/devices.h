#pragma once

#include "sema/state.h"

namespace kdl::sema {

/// Reads `device npu = …;` into the entity.
void CheckDevice(ModuleState& module, const syntax::DeviceItem& item, Entity& entity);

}  // namespace kdl::sema
