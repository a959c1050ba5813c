#pragma once

#include <llvm/IR/DIBuilder.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "codegen/common/source_variables.h"
#include "codegen/llvm/debug_types.h"
#include "codegen/llvm/debugging.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/source_lines.h"

namespace kdl::codegen {

/// Tells debuggers where the variables of a kernel's function are while its code is emitted.
///
/// A value of KIR belongs to a variable if it has the variable's name and its op is in the variable's scope or in a
/// statement that assigns the variable. A tile is in a buffer with its name. If it has none, debuggers see the elements
/// that are being computed.
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
  /// A place in the kernel.
  struct Here {
    ir::Loc loc;
    const ir::Region* region = nullptr;
  };
  /// A variable of the kernel or of an inlined fn, in one version of the statement that declares it.
  struct Key {
    const SourceVariable* variable;
    const ir::CallSite* call;
    const ir::Region* version;
    auto operator<=>(const Key&) const = default;
  };
  static Key KeyOf(const SourceVariable& variable, const Here& here) {
    return {&variable, here.loc.call, VersionOf(variable, here.region)};
  }
  /// Where a variable is.
  struct Record {
    SourcePlace since;             ///< the assignment after which it is there
    llvm::Value* value = nullptr;  ///< its value, or the address of its memory
    bool in_memory = false;
    bool operator==(const Record&) const = default;
  };
  using Records = std::map<Key, Record>;
  /// How the elements of a tile are shown.
  struct Shape {
    std::vector<int64_t> extents;  ///< of its buffer
    int64_t lanes = 0;             ///< if there is no buffer: elements that are computed together
  };

  void FindShapes();
  void Define(const ir::Value* value, const Here& here);
  void Rejoin();
  const SourceVariable* Find(std::string_view name, const ir::Loc& loc) const;
  const SourceFunction* FunctionAt(const ir::Loc& loc) const;
  llvm::DILocalVariable* Declared(const Key& key, const Here& here);
  llvm::DIType* TypeOf(const Key& key);
  llvm::AllocaInst* SlotOf(const Key& key, llvm::Type* type);
  void DeclareTensor(const SourceVariable& variable, const Memory& memory);
  void DeclareConstants(const SourceFunction& function, const Here& here);
  void Keep(const Key& key, llvm::Value* value, const Here& here, uint64_t at_bit);
  void Place(const Key& key, const Record& record, const Here& here);
  void Show(const Key& key, llvm::Value* value, llvm::ArrayRef<uint64_t> operations,
            const Here& here);
  void KeepWhole(const Key& key, const Here& here);
  void Forget(const Key& key, const Here& here);
  void Assign(const SourceVariable& variable, const SourceVariable::Assignment& assignment,
              const Here& here);

  Emitter& emitter_;
  const SourceVariables& variables_;
  bool keeps_;
  SourceLines* lines_;
  std::optional<DebugTypes> types_;
  std::map<Key, Shape> shapes_;
  std::map<Key, llvm::DILocalVariable*> declared_;
  std::map<Key, llvm::AllocaInst*> slots_;
  Records records_;
  std::vector<Records> around_;  ///< the records before each region that is being emitted
  std::set<Key> changed_;        ///< the variables that regions of the current op have changed
  std::map<Key, Here> places_;   ///< for each variable, a place in its scope
};

}  // namespace kdl::codegen
