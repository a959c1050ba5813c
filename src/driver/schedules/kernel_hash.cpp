#include "driver/schedules/kernel_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/print/printer.h"

namespace kdl::driver {

namespace {

/// Returns the kernel with the longest name that is `instance` or is followed by constants in it.
const ir::Function* FindKernel(const ir::Module& module, std::string_view instance) {
  const ir::Function* found = nullptr;
  for (const ir::Function* function : module.functions()) {
    std::string_view name = function->name.text();
    bool fits = instance == name ||
                (instance.starts_with(name) && instance.substr(name.size()).starts_with('.'));
    if (function->kind != ir::FunctionKind::Kernel || !fits) continue;
    if (!found || name.size() > found->name.text().size()) found = function;
  }
  return found;
}

/// Adds the function and the fns that it calls, in the order of the first calls.
void Collect(const ir::Module& module, const ir::Function& function,
             std::vector<const ir::Function*>& all) {
  if (std::ranges::find(all, &function) != all.end()) return;
  all.push_back(&function);
  ir::Walk(function.body, [&](const ir::Op* op) {
    if (op->kind() != ir::OpKind::Call) return;
    const ir::Function* callee = module.FindFunction(op->attr<ir::AttrKey::Callee>());
    if (callee) Collect(module, *callee, all);
  });
}

/// Returns the text of a function without values from the command line and without quotes from the source.
std::string PlainText(const ir::Module& module, const ir::Function& function) {
  ir::Module copy(module.context());
  ir::Function* plain = ir::CloneFunction(function, copy, function.name);
  for (ir::Generic& generic : plain->generics) {
    generic.values.clear();
    generic.is_auto = false;  // as with a value from the command line
  }
  ir::Walk(plain->body, [](ir::Op* op) {
    bool quotes = op->kind() == ir::OpKind::Load || op->kind() == ir::OpKind::Store;
    if (quotes && op->HasAttr(ir::AttrKey::Text)) op->RemoveAttr(ir::AttrKey::Text);
  });
  return ir::Print(*plain);
}

/// Returns the 64-bit FNV-1a hash of a text.
uint64_t Fnv1a(std::string_view text, uint64_t hash) {
  constexpr uint64_t kPrime = 0x100000001b3;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace

std::string KernelHash(const ir::Module& module, std::string_view instance) {
  constexpr uint64_t kBasis = 0xcbf29ce484222325;
  const ir::Function* kernel = FindKernel(module, instance);
  if (!kernel) return "";
  std::vector<const ir::Function*> all;
  Collect(module, *kernel, all);
  uint64_t hash = kBasis;
  for (const ir::Function* one : all) hash = Fnv1a(PlainText(module, *one), hash);
  return fmt::format("{:016x}", hash);
}

}  // namespace kdl::driver
