#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/common/source_variables.h"
#include "codegen/llvm/debug_types.h"
#include "codegen/llvm/emitter.h"
#include "codegen/llvm/source_lines.h"

namespace kdl::codegen {

inline SourcePlace PlaceOf(const ir::Loc& loc) { return {loc.line, loc.column}; }

/// Returns the assignment whose statement contains the place, or null.
const SourceVariable::Assignment* AssignmentAt(const SourceVariable& variable, SourcePlace place);

std::vector<int64_t> ExtentsOf(ir::Type buffer);

/// A place in the kernel.
struct DebugPlace {
  ir::Loc loc;
  const ir::Region* region = nullptr;
};

/// A variable of the kernel or of an inlined fn, in one version of the statement that declares it.
struct DebugKey {
  const SourceVariable* variable;
  const ir::CallSite* call;
  const ir::Region* version;
  auto operator<=>(const DebugKey&) const = default;
};
inline DebugKey KeyOf(const SourceVariable& variable, const DebugPlace& here) {
  return {&variable, here.loc.call, VersionOf(variable, here.region)};
}

/// Splits the name of a buffer, such as `t.by.1.0`, into the name of the tile and the order of its axes in the buffer. The
/// order is empty if the axes are in order.
std::pair<std::string_view, std::vector<size_t>> SplitBufferName(std::string_view name);

/// How the elements of a tile are shown.
struct TileShape {
  std::vector<int64_t> extents;  ///< of its buffer
  std::vector<size_t>
      order;          ///< the axis of the tile for each dimension; empty if they are in order
  int64_t lanes = 0;  ///< if there is no buffer: elements that are computed together
  bool has_buffer() const { return !extents.empty(); }
};

/// Declares the variables of a kernel's function for debuggers, with their types.
///
/// A value of KIR belongs to a variable if it has the variable's name and its op is in the variable's scope or in a
/// statement that assigns the variable. A tile is in a buffer with its name. If it has none, debuggers see the elements
/// that are being computed.
class DebugDeclarations {
 public:
  /// `lines` is null if there is no debug information.
  DebugDeclarations(Emitter& emitter, const SourceVariables& variables, SourceLines* lines);
  DebugDeclarations(const DebugDeclarations&) = delete;
  DebugDeclarations& operator=(const DebugDeclarations&) = delete;

  /// Must be called before the other functions, when the KIR of the function is complete.
  void FindShapes();
  /// Returns the variable to which a value with this name belongs, or null.
  const SourceVariable* Find(std::string_view name, const ir::Loc& loc) const;
  const SourceFunction* FunctionAt(const ir::Loc& loc) const;
  TileShape& ShapeOf(const DebugKey& key) { return shapes_[key]; }
  /// Returns whether the variable is a scalar, or elements of a tile that are computed together.
  bool IsInRegisters(const DebugKey& key) {
    bool is_tile = key.variable->kind == VariableKind::Tile;
    return key.variable->kind == VariableKind::Scalar || (is_tile && !ShapeOf(key).has_buffer());
  }
  /// Returns the number of bits that debuggers show for the variable.
  uint64_t BitsOf(const DebugKey& key);
  /// Declares the variable if it is not declared yet. `here` is a place in its scope.
  llvm::DILocalVariable* Declared(const DebugKey& key, const DebugPlace& here);
  /// Records that from the current instruction on, the variable is the result of the operations on `value`.
  void Show(const DebugKey& key, llvm::Value* value, llvm::ArrayRef<uint64_t> operations,
            const DebugPlace& here);

 private:
  llvm::DIType* TypeOf(const DebugKey& key);
  std::vector<DebugTypes::Member> MembersOf(const DebugKey& tuple);
  SourceVariable InMemoryOrder(const SourceVariable& variable,
                               const std::vector<size_t>& order) const;

  Emitter& emitter_;
  const SourceVariables& variables_;
  SourceLines* lines_;
  std::optional<DebugTypes> types_;
  std::map<DebugKey, TileShape> shapes_;
  std::map<DebugKey, llvm::DILocalVariable*> declared_;
};

}  // namespace kdl::codegen
