#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Checks a declaration such as `device npu = …;` and stores its contents in `entity`, the entity that it
/// declares.
void CheckDevice(ModuleState& module, const FileState& file, const syntax::DeviceItem& item,
                 Entity& entity);

/// Returns the only device that the file declares, or null if it declares none or several.
const Entity* OnlyDevice(const FileState& file);

}  // namespace kdl::sema
