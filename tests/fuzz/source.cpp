#include <string>

#include "driver/compile.h"
#include "ir/verifier.h"
#include "target.h"
#include "targets/builtin.h"

// A text goes through the parser, semantic analysis, irgen and the passes that no target decides.
namespace kdl::fuzz {

const std::string_view kEnding = ".kdl";

void Run(std::string_view text) {
  static const targets::Registry families = targets::BuiltinFamilies();
  driver::Options options;
  options.files = {"fuzzed.kdl"};
  driver::Compilation compilation(options, families);
  if (driver::CompileText(compilation, std::string(text)) != driver::PipelineEnd::Done) return;
  driver::RunModulePasses(compilation);
}

}  // namespace kdl::fuzz
