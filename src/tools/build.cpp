#include "driver/compile.h"
#include "tools/commands.h"

namespace kdl::tools {

int RunBuild(const driver::Options& options) {
  driver::Compilation compilation(options);
  driver::CompileToIr(compilation);
  return driver::Finish(compilation);
}

}  // namespace kdl::tools
