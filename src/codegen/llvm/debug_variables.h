#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "codegen/common/source_variables.h"
#include "codegen/llvm/debug_declarations.h"
#include "codegen/llvm/debugging.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/source_lines.h"

namespace kdl::codegen {

/// Tells debuggers where the variables of a kernel's function are while its code is emitted.
class DebugVariables : public VariableWatch {
 public:
  /// If `keeps` is true, the function keeps the value of each variable in memory, whether or not there is debug
  /// information. `lines` is null if there is none.
  DebugVariables(Emitter& emitter, const SourceVariables& variables, bool keeps,
                 SourceLines* lines);
  DebugVariables(const DebugVariables&) = delete;
  DebugVariables& operator=(const DebugVariables&) = delete;

  void Begin() override;
  void Reach(const ir::Op* op) override;
  void Made(const ir::Op* op) override;
  void EnterRegion(const ir::Region* region) override;
  void LeaveRegion() override;

 private:
  using Here = DebugPlace;
  using Key = DebugKey;
  /// Where a variable is.
  struct Record {
    SourcePlace since;             ///< the assignment after which it is there
    llvm::Value* value = nullptr;  ///< its value, or the address of its memory
    bool in_memory = false;
    bool operator==(const Record&) const = default;
  };
  using Records = std::map<Key, Record>;
  /// Where a variable will be after a statement.
  struct Pending {
    SourcePlace begin, end;  ///< of the statement
    Record record;
    Here here;
    size_t depth = 0;  ///< the number of regions around the statement
  };
  void Define(const ir::Value* value, const Here& here);
  void Rejoin();
  llvm::DebugLoc StoreLoc(const Key& key, const Here& here) const;
  llvm::AllocaInst* SlotOf(const Key& key, llvm::Type* type);
  void DeclareTensor(const SourceVariable& variable, const Memory& memory);
  void DeclareConstants(const SourceFunction& function, const Here& here);
  void Keep(const Key& key, llvm::Value* value, const Here& here, uint64_t at_bit);
  void Place(const Key& key, const Record& record, const Here& here);
  void Show(const Key& key, llvm::Value* value, llvm::ArrayRef<uint64_t> operations,
            const Here& here);
  void PlaceBuffer(const Key& key, llvm::Value* base, const Here& here);
  void PlacePending(const Here& here);
  void ShowInBlock(const Key& key, const Here& here);
  void KeepWhole(const Key& key, const Here& here);
  void Copy(const Key& key, const Key& other, const Record& from, SourcePlace since,
            const Here& here);
  void BindParameters(const ir::Loc& loc, const ir::Region* region);
  void BindParameter(const SourceCall::Argument& argument, const Here& here, const Here& at);
  void Forget(const Key& key, const Here& here);
  void Assign(const SourceVariable& variable, const SourceVariable::Assignment& assignment,
              const Here& here);

  Emitter& emitter_;
  DebugDeclarations declarations_;
  bool keeps_;
  SourceLines* lines_;
  std::map<Key, llvm::AllocaInst*> slots_;
  std::map<Key, const llvm::BasicBlock*>
      shown_in_;  ///< the block of the last record of each variable
  Records records_;
  std::map<Key, Pending> pending_;
  std::vector<Records> around_;  ///< the records before each region that is being emitted
  std::set<Key> changed_;        ///< the variables that regions of the current op have changed
  std::map<Key, Here> places_;   ///< for each variable, a place in its scope
};

}  // namespace kdl::codegen
