#include <string>

#include "driver/compile/compile.h"
#include "driver/compile/module_passes.h"
#include "ir/parse/parser.h"
#include "ir/print/printer.h"
#include "support/check.h"
#include "target.h"
#include "targets/builtin.h"

// Fuzzes KIR texts. If the parser accepts a text, it must also accept the text that printing the module
// gives, and printing a second time must give the same text. Then the passes run. A text at tile level also
// goes through the passes as an untrusted text.
namespace kdl::fuzz {

const std::string_view kEnding = ".kir";

void RunText(std::string_view text) {
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
  KDL_CHECK(other.ok(), "the printed text cannot be read back:\n{}", printed);
  KDL_CHECK(ir::Print(*other.module, {}) == printed,
            "this text prints differently after being read back:\n{}", printed);
  driver::RunModulePasses(first, *one.module);
  options.trust_ir = false;
  driver::Session untrusted(options, families);
  read(untrusted, driver::Until::ModulePasses, std::move(printed));
}

}  // namespace kdl::fuzz
