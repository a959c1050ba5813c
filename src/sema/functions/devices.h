#pragma once

#include "sema/walk/state.h"

namespace kdl::sema {

/// Reads `device npu = …;` into the entity, which is one of the file's.
void CheckDevice(ModuleState& module, const FileState& file, const syntax::DeviceItem& item,
                 Entity& entity);

/// The device of the file if it declares one alone; null else.
const Entity* OnlyDevice(const FileState& file);

}  // namespace kdl::sema
