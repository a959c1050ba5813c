#include "driver/compile/identify_programs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "ir/identity.h"
#include "ir/lookup.h"
#include "ir/op_kind.h"
#include "ir/print/printer.h"
#include "kdl/checkpoint_text.hpp"

namespace kdl::driver {

namespace {

/// Returns the text of a function without its documentation, which is before it.
std::string TextOf(const ir::Function& function) {
  std::string text = ir::Print(function);
  size_t first = 0;
  while (text.compare(first, 3, "///") == 0) first = text.find('\n', first) + 1;
  return text.substr(first);
}

/// Appends the text of a function, and of the functions that it uses, unless they are in `printed`.
void Append(const ir::Module& module, const ir::Function& function,
            std::set<const ir::Function*>& printed, std::string& text) {
  if (!printed.insert(&function).second) return;
  text += TextOf(function);
  ir::Walk(function.body, [&](const ir::Op* op) {
    if (!op->HasAttr(ir::AttrKey::Callee)) return;
    const ir::Function* callee = module.FindFunction(op->attr<ir::AttrKey::Callee>());
    if (callee) Append(module, *callee, printed, text);
  });
}

}  // namespace

void IdentifyPrograms(ir::Module& module) {
  bool has_ranks = std::ranges::any_of(module.devices, &ir::Device::has_ranks);
  for (ir::Function* function : module.functions()) {
    bool is_compared = function->kind == ir::FunctionKind::Program &&
                       (has_ranks || !ir::OpsOfKind(*function, ir::OpKind::Restore).empty());
    if (!is_compared || ir::FindIdentity(*function)) continue;
    std::set<const ir::Function*> printed;
    std::string text;
    Append(module, *function, printed, text);
    auto identity = static_cast<int64_t>(checkpoints::ChecksumOf(text));
    function->generics.push_back(
        {module.context().names.Intern(ir::kIdentity), {identity}, false, {}});
  }
}

}  // namespace kdl::driver
