#include "targets/builtin.h"
#include "tools/kernelc.h"

int main(int argc, char** argv) {
  return kdl::tools::RunKernelc(argc, argv, kdl::targets::BuiltinFamilies());
}
