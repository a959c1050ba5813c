#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reads `device npu = …;` into the entity, which is an item of the file.
void CheckDevice(ModuleState& module, const FileState& file, const syntax::DeviceItem& item,
                 Entity& entity);

/// Returns the only device that the file declares, or null if it declares none or several.
const Entity* OnlyDevice(const FileState& file);

}  // namespace kdl::sema
