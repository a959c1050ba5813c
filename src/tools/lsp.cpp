#include "tools/commands.h"
#include "tools/lsp/server.h"

namespace kdl::tools {

int RunLsp(const driver::Options& options, const targets::Registry& families) {
  return lsp::Serve(families, options.define);
}

}  // namespace kdl::tools
