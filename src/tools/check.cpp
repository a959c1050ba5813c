#include <optional>
#include <utility>

#include "driver/compile/compile.h"
#include "driver/files.h"
#include "syntax/limits.h"
#include "tools/commands.h"
#include "tools/standard_input.h"

namespace kdl::tools {

int RunCheck(const driver::Options& given, const targets::Registry& families) {
  driver::Options options = given;
  bool reads_input = options.files[0] == kStandardInput;
  if (reads_input) options.files[0] = kNameOfInput;
  driver::Session session(options, families);
  driver::CompileRequest request;
  request.until = driver::Until::ModulePasses;
  if (reads_input) request.text = driver::ReadStandardInput(syntax::kMaxBytes, session.diagnostics);
  if (!session.diagnostics.has_errors()) driver::Compile(session, std::move(request));
  return driver::Finish(session);
}

}  // namespace kdl::tools
