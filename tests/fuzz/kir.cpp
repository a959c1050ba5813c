#include <string>

#include "driver/compile/compile.h"
#include "driver/compile/module_passes.h"
#include "ir/parse/parser.h"
#include "ir/print/printer.h"
#include "support/check.h"
#include "target.h"
#include "targets/builtin.h"

// A KIR text that the parser takes prints to one that it takes again, and that prints alike; then the passes run. What is
// at tile level also goes through them as a text that is not trusted.
namespace kdl::fuzz {

const std::string_view kEnding = ".kir";

void Run(std::string_view text) {
  static const targets::Registry families = targets::BuiltinFamilies();
  driver::Options options;
  options.files = {"fuzzed.kir"};
  options.trust_ir = true;
  auto read = [&](driver::Session& session, driver::Until until, std::string kir) {
    return driver::Compile(session, {.until = until, .text = std::move(kir)});
  };
  driver::Session first(options, families);
  driver::Compilation one = read(first, driver::Until::Ir, std::string(text));
  if (!one.ok()) return;
  std::string printed = ir::Print(*one.module, {});
  driver::Session second(options, families);
  driver::Compilation other = read(second, driver::Until::Ir, printed);
  KDL_CHECK(other.ok(), "this is not read back:\n{}", printed);
  KDL_CHECK(ir::Print(*other.module, {}) == printed, "this prints otherwise when read back:\n{}",
            printed);
  driver::RunModulePasses(first, *one.module);
  options.trust_ir = false;
  driver::Session untrusted(options, families);
  read(untrusted, driver::Until::ModulePasses, std::move(printed));
}

}  // namespace kdl::fuzz
