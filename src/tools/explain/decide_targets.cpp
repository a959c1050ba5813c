#include "tools/explain/decide_targets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "driver/run/select.h"
#include "support/contains.h"

namespace kdl::tools {

namespace {

/// If --kernel is given, removes all programs, and the kernels that --kernel does not name. On
/// error, reports it and returns false.
bool KeepNamed(driver::Session& s, ir::Module& module) {
  if (s.options.kernel.empty()) return true;
  auto kept = driver::SelectKernels(module, s.options.files[0], s.options, s.diagnostics);
  std::erase_if(module.functions(), [&](ir::Function* function) {
    bool is_fn = function->kind == ir::FunctionKind::Fn;
    return !is_fn && !Contains(kept, function);
  });
  return !kept.empty();
}

}  // namespace

driver::Compilation DecideTargets(driver::Session& s, driver::SelectorAround around,
                                  driver::Until until, std::optional<std::string> text,
                                  driver::Emits emits) {
  driver::CompileRequest request;
  request.text = std::move(text);
  request.until = until;
  request.emits = std::move(emits);
  request.edit = [&](driver::Compilation& made) { return KeepNamed(s, *made.module); };
  request.places = {.bindings = s.options.device, .needs_all = false};
  if (!s.options.target.empty())
    request.places.under_test = {fmt::format("{}", fmt::join(s.options.target, ","))};
  request.around = std::move(around);
  return driver::Compile(s, std::move(request));
}

}  // namespace kdl::tools
