#include "ir/print/with_callees.h"

#include <set>

#include "ir/print/printer.h"

namespace kdl::ir {

namespace {

/// Appends the text of a function, and of the functions that it uses, unless they are in `printed`.
void Append(const Module& module, const Function& function, std::set<const Function*>& printed,
            std::string& text) {
  if (!printed.insert(&function).second) return;
  text += Print(function);
  Walk(function.body, [&](const Op* op) {
    if (!op->HasAttr(AttrKey::Callee)) return;
    const Function* callee = module.FindFunction(op->attr<AttrKey::Callee>());
    if (callee) Append(module, *callee, printed, text);
  });
}

}  // namespace

std::string PrintWithCallees(const Module& module, const Function& program) {
  std::set<const Function*> printed;
  std::string text;
  Append(module, program, printed, text);
  return text;
}

}  // namespace kdl::ir
