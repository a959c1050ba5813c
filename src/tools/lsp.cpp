#include "tools/commands.h"
#include "tools/lsp/server.h"

namespace kdl::tools {

int RunLsp(const driver::Options&, const targets::Registry& families) {
  return lsp::Serve(families);
}

}  // namespace kdl::tools
