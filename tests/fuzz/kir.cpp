#include <string>

#include "driver/compile.h"
#include "ir/parser.h"
#include "ir/printer.h"
#include "support/check.h"
#include "target.h"
#include "targets/builtin.h"

// A KIR text that the parser takes prints to one that it takes again, and that prints alike; then the passes run. What is
// at tile level also goes through them as a text that is not trusted.
namespace kdl::fuzz {

const std::string_view kEnding = ".kir";

namespace {

driver::PipelineEnd Read(driver::Compilation& compilation, std::string text) {
  return driver::CompileText(compilation, std::move(text));
}

}  // namespace

void Run(std::string_view text) {
  static const targets::Registry families = targets::BuiltinFamilies();
  driver::Options options;
  options.files = {"fuzzed.kir"};
  options.trust_ir = true;
  driver::Compilation first(options, families);
  if (Read(first, std::string(text)) != driver::PipelineEnd::Done) return;
  std::string printed = ir::Print(*first.module, {});
  driver::Compilation second(options, families);
  KDL_CHECK(Read(second, printed) == driver::PipelineEnd::Done, "this is not read back:\n{}",
            printed);
  KDL_CHECK(ir::Print(*second.module, {}) == printed, "this prints otherwise when read back:\n{}",
            printed);
  driver::RunModulePasses(first);
  options.trust_ir = false;
  driver::Compilation untrusted(options, families);
  if (Read(untrusted, std::move(printed)) == driver::PipelineEnd::Done)
    driver::RunModulePasses(untrusted);
}

}  // namespace kdl::fuzz
