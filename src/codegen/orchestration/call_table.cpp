#include "codegen/common/call_table.h"

#include <string>
#include <utility>

#include "codegen/orchestration/interface.h"
#include "codegen/orchestration/orchestration.h"
#include "ir/module.h"

namespace kdl::codegen {

CallTable CallTableOf(const ir::Module& module, const std::string& runtime_name) {
  ModuleFace face = MakeFace(module, runtime_name);
  CallTable table{face.c_prefix.substr(0, face.c_prefix.size() - 1),
                  face.images_symbol,
                  face.calls.c_open,
                  face.calls.c_close,
                  {}};
  for (const FaceCall& call : face.calls.calls) {
    CallEntry entry{call.c_name,
                    call.c_async_name,
                    call.c_bind_name,
                    call.c_call_name,
                    call.c_unbind_name,
                    call.looked_up,
                    {},
                    {}};
    for (const FaceConstant& size : call.sizes) entry.sizes.push_back(size.source_name);
    for (const FaceParam& param : call.params) {
      ir::Type type = param.param->value->type();
      entry.params.push_back({param.is_tensor, param.is_absent, type->scalar, type->dims});
    }
    table.entries.push_back(std::move(entry));
  }
  return table;
}

}  // namespace kdl::codegen
