#include "codegen/llvm/optimize/split_functions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/CodeExtractor.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace kdl::codegen {

namespace {

constexpr size_t kMostBlocks = 1000;
constexpr size_t kMostBlocksOfPart = 200;
/// A call costs some nanoseconds, so a part needs at least this many blocks, or a loop that contains another one.
constexpr size_t kFewestBlocksOfPart = 16;

/// Blocks that only the first one of them is entered from outside.
using LoopPart = std::vector<llvm::BasicBlock*>;

/// Finds the parts of one function.
class LoopParts {
 public:
  explicit LoopParts(llvm::Function& function) : dominators_(function), loops_(dominators_) {
    for (const llvm::Loop* loop : loops_) AddLoop(*loop);
  }

  const std::vector<LoopPart>& found() const { return found_; }

 private:
  void AddLoop(const llvm::Loop& loop);
  void AddSections(const llvm::Loop& loop);
  std::vector<LoopPart> Sections(const llvm::Loop& loop) const;
  void Add(LoopPart part) {
    if (part.size() >= kFewestBlocksOfPart) found_.push_back(std::move(part));
  }

  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  std::vector<LoopPart> found_;
};

void LoopParts::AddLoop(const llvm::Loop& loop) {
  if (loop.getNumBlocks() > kMostBlocksOfPart) {
    AddSections(loop);
  } else if (!loop.isInnermost() || loop.getNumBlocks() >= kFewestBlocksOfPart) {
    found_.emplace_back(loop.block_begin(), loop.block_end());
  }
}

/// Returns the sections of an iteration, in order. Each section begins with a block of the loop itself that every complete
/// iteration executes, and contains all blocks that are executed after it and before the next such block.
std::vector<LoopPart> LoopParts::Sections(const llvm::Loop& loop) const {
  std::vector<LoopPart> sections;
  const llvm::BasicBlock* latch = loop.getLoopLatch();
  if (latch == nullptr) return sections;
  llvm::DenseMap<const llvm::BasicBlock*, size_t> section_of;
  for (auto* node = dominators_.getNode(latch); node != nullptr; node = node->getIDom()) {
    if (loops_.getLoopFor(node->getBlock()) == &loop) sections.push_back({node->getBlock()});
    if (node->getBlock() == loop.getHeader()) break;
  }
  std::ranges::reverse(sections);
  for (size_t i = 0; i < sections.size(); ++i) section_of[sections[i].front()] = i;
  for (auto* node : llvm::depth_first(dominators_.getNode(loop.getHeader()))) {
    llvm::BasicBlock* block = node->getBlock();
    if (section_of.contains(block)) continue;
    size_t section = section_of.at(node->getIDom()->getBlock());
    section_of[block] = section;
    if (loop.contains(block)) sections[section].push_back(block);
  }
  return sections;
}

/// Joins sections of the loop to parts. The first section has the loop's variables, and the last one ends an iteration, so
/// they stay.
void LoopParts::AddSections(const llvm::Loop& loop) {
  std::vector<LoopPart> sections = Sections(loop);
  LoopPart part;
  for (size_t i = 0; i < sections.size(); ++i) {
    bool stays = i == 0 || i + 1 == sections.size();
    bool is_long = sections[i].size() > kMostBlocksOfPart;
    if (stays || is_long || part.size() + sections[i].size() > kMostBlocksOfPart)
      Add(std::exchange(part, {}));
    if (!stays && !is_long) part.insert(part.end(), sections[i].begin(), sections[i].end());
    if (!stays && !is_long) continue;
    for (const llvm::Loop* inner : loop) {
      if (llvm::is_contained(sections[i], inner->getHeader())) AddLoop(*inner);
    }
  }
}

}  // namespace

llvm::PreservedAnalyses SplitFunctions::run(llvm::Module& module, llvm::ModuleAnalysisManager&) {
  std::vector<llvm::Function*> large;
  for (llvm::Function& function : module) {
    if (function.size() > kMostBlocks) large.push_back(&function);
  }
  for (llvm::Function* function : large) {
    LoopParts parts(*function);
    llvm::CodeExtractorAnalysisCache cache(*function);
    for (const LoopPart& part : parts.found()) {
      llvm::CodeExtractor extractor(part);
      if (extractor.isEligible()) extractor.extractCodeRegion(cache);
    }
  }
  return large.empty() ? llvm::PreservedAnalyses::all() : llvm::PreservedAnalyses::none();
}

}  // namespace kdl::codegen
