#include <string>

#include "driver/compile/compile.h"
#include "ir/verify/verifier.h"
#include "target.h"
#include "targets/builtin.h"

// Runs a text through the parser, semantic analysis, irgen and the target-independent passes.
namespace kdl::fuzz {

const std::string_view kEnding = ".kdl";

void RunText(std::string_view text) {
  static const targets::Registry families = targets::BuiltinFamilies();
  driver::Options options;
  options.files = {"fuzzed.kdl"};
  driver::Session session(options, families);
  driver::Compile(session, {.until = driver::Until::ModulePasses, .text = std::string(text)});
}

}  // namespace kdl::fuzz
