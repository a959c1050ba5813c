#include "sema/functions/defines.h"

namespace kdl::sema {

using syntax::FunctionItem;
using syntax::FunctionKind;

const Define* FindDefine(const ModuleState& module, const FunctionItem& function, Name name) {
  for (const Define& define : module.options.defines) {
    bool is_its = define.function.empty() || define.function == function.name.name.text();
    if (define.name == name.text() && is_its) return &define;
  }
  return nullptr;
}

bool IsHeaderItem(const ModuleState& module, const FunctionGroup& group) {
  return group.file == module.file && group.item->exported &&
         group.item->function_kind != FunctionKind::Fn;
}

}  // namespace kdl::sema
