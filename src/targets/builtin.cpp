#include "targets/builtin.h"

#include "support/check.h"
#include "targets/cluster/family.h"
#include "targets/cpu/family.h"
#include "targets/simt/family.h"

namespace kdl::targets {

Registry BuiltinFamilies() {
  Registry registry;
  for (const Family* family : {&cpu::kFamily, &simt::kFamily, &cluster::kFamily}) {
    Status added = registry.Add(*family);
    KDL_CHECK(added.ok(), "{}", added.failure().message);
  }
  return registry;
}

}  // namespace kdl::targets
