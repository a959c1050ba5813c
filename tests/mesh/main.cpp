#include "family.h"
#include "support/check.h"
#include "targets/builtin.h"
#include "tools/kernelc.h"

// Runs kernelc with an additional family of targets.
int main(int argc, char** argv) {
  kdl::targets::Registry families = kdl::targets::BuiltinFamilies();
  kdl::Status added = families.Add(mesh::kFamily);
  KDL_CHECK(added.ok(), "{}", added.failure().message);
  return kdl::tools::RunKernelc(argc, argv, std::move(families));
}
