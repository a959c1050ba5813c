#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reads a declaration such as `device npu = …;` into `entity`, which is the entity of this item of
/// the file.
void CheckDevice(ModuleState& module, const FileState& file, const syntax::DeviceItem& item,
                 Entity& entity);

/// Returns the only device that the file declares, or null if it declares none or several.
const Entity* OnlyDevice(const FileState& file);

}  // namespace kdl::sema
