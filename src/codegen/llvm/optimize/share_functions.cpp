#include "codegen/llvm/optimize/share_functions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/StructuralHash.h>

#include <map>
#include <string>
#include <vector>

namespace kdl::codegen {

namespace {

/// Compares two functions instruction by instruction. LLVM's FunctionComparator cannot be used: it takes different
/// alias scopes for equal, and each function has scopes of its own.
class FunctionComparison {
 public:
  bool AreEqual(const llvm::Function& a, const llvm::Function& b) {
    if (a.getFunctionType() != b.getFunctionType() || a.getAttributes() != b.getAttributes())
      return false;
    return Pair(a, b) && llvm::all_of(llvm::zip(a, b), [&](const auto& blocks) {
             const auto& [of_a, of_b] = blocks;
             return llvm::all_of(llvm::zip(of_a, of_b), [&](const auto& pair) {
               return AreEqual(std::get<0>(pair), std::get<1>(pair));
             });
           });
  }

 private:
  /// Notes which parameters, blocks and instructions correspond to each other. Returns false if their numbers differ.
  bool Pair(const llvm::Function& a, const llvm::Function& b) {
    if (a.size() != b.size()) return false;
    for (const auto& [of_a, of_b] : llvm::zip(a.args(), b.args())) values_[&of_a] = &of_b;
    for (const auto& [of_a, of_b] : llvm::zip(a, b)) {
      if (of_a.size() != of_b.size()) return false;
      values_[&of_a] = &of_b;
      for (const auto& [one, other] : llvm::zip(of_a, of_b)) values_[&one] = &other;
    }
    return true;
  }

  bool AreEqual(const llvm::Value* a, const llvm::Value* b) const {
    auto found = values_.find(a);
    return found == values_.end() ? a == b : found->second == b;
  }

  bool AreEqual(const llvm::Instruction& a, const llvm::Instruction& b) {
    if (!a.isSameOperationAs(&b) || !a.hasSameSubclassOptionalData(&b)) return false;
    for (const auto& [of_a, of_b] : llvm::zip(a.operands(), b.operands()))
      if (!AreEqual(of_a.get(), of_b.get())) return false;
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&a)) {
      for (const auto& [of_a, of_b] :
           llvm::zip(phi->blocks(), llvm::cast<llvm::PHINode>(b).blocks()))
        if (!AreEqual(of_a, of_b)) return false;
    }
    return HaveEqualMetadata(a, b);
  }

  bool HaveEqualMetadata(const llvm::Instruction& a, const llvm::Instruction& b) {
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> of_a;
    llvm::SmallVector<std::pair<unsigned, llvm::MDNode*>, 4> of_b;
    a.getAllMetadata(of_a);
    b.getAllMetadata(of_b);
    return of_a.size() == of_b.size() && llvm::all_of(llvm::zip(of_a, of_b), [&](const auto& pair) {
             const auto& [one, other] = pair;
             return one.first == other.first && AreEqual(one.second, other.second);
           });
  }

  /// Nodes such as alias scopes have no meaning of their own: it matters only which accesses have the same node. So
  /// different nodes of one function must correspond to different nodes of the other one.
  bool AreEqual(const llvm::Metadata* a, const llvm::Metadata* b) {
    const auto* node_a = llvm::dyn_cast_or_null<llvm::MDNode>(a);
    const auto* node_b = llvm::dyn_cast_or_null<llvm::MDNode>(b);
    if (node_a == nullptr || node_b == nullptr) return a == b;
    auto [of_a, is_new_a] = nodes_.try_emplace(node_a, node_b);
    auto [of_b, is_new_b] = origins_.try_emplace(node_b, node_a);
    if (!is_new_a || !is_new_b) return of_a->second == node_b && of_b->second == node_a;
    if (node_a == node_b) return true;
    return node_a->getMetadataID() == node_b->getMetadataID() &&
           node_a->getNumOperands() == node_b->getNumOperands() &&
           llvm::all_of(llvm::zip(node_a->operands(), node_b->operands()), [&](const auto& pair) {
             return AreEqual(std::get<0>(pair).get(), std::get<1>(pair).get());
           });
  }

  llvm::DenseMap<const llvm::Value*, const llvm::Value*>
      values_;  ///< the values of b, keyed by those of a
  llvm::DenseMap<const llvm::MDNode*, const llvm::MDNode*> nodes_;
  llvm::DenseMap<const llvm::MDNode*, const llvm::MDNode*> origins_;  ///< the inverse of nodes_
};

/// Coroutines and the functions that they become are found by their names.
bool MayBeShared(const llvm::Function& function) {
  return !function.isDeclaration() && !function.isPresplitCoroutine();
}

void Replace(llvm::Function& function, llvm::Function& by) {
  if (function.hasLocalLinkage()) {
    function.replaceAllUsesWith(&by);
  } else {
    auto* alias = llvm::GlobalAlias::create(function.getLinkage(), "", &by);
    alias->setVisibility(function.getVisibility());
    alias->takeName(&function);
    function.replaceAllUsesWith(alias);
  }
  function.eraseFromParent();
}

}  // namespace

void ShareFunctions(llvm::Module& module) {
  std::map<llvm::IRHash, std::vector<llvm::Function*>> kept;
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!MayBeShared(function)) continue;
    std::vector<llvm::Function*>& alike =
        kept[llvm::StructuralHash(function, /*DetailedHash=*/true)];
    auto equal = llvm::find_if(alike, [&](const llvm::Function* other) {
      return FunctionComparison().AreEqual(*other, function);
    });
    if (equal == alike.end()) {
      alike.push_back(&function);
    } else {
      Replace(function, **equal);
    }
  }
}

}  // namespace kdl::codegen
