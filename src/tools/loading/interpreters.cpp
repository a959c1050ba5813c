#include "tools/loading/interpreters.h"

#include "targets/kinds.h"
#include "tools/loading/reference_device.h"

namespace kdl::tools {

Status AddInterpreters(kdl_context* context, const targets::Registry& families) {
  Status added = AddInterpreter(context, targets::kReferenceKind, families.instructions());
  for (const targets::Family* family : families.families()) {
    for (const targets::TargetKind& kind : family->kinds) {
      if (added.ok() && kind.interpreted)
        added = AddInterpreter(context, kind.kind, families.instructions());
    }
  }
  return added;
}

}  // namespace kdl::tools
