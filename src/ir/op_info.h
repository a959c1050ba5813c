#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ir/attr.h"
#include "ir/op_kind.h"

// What the op table (ops.def) says of an op.

namespace kdl::ir {

inline constexpr int kManyResults = -1;

/// Where an op stands. Kernels and fns go down from level to level.
enum Place : uint32_t {
  kTiles = 1 << 0,     ///< tile level: what the source says
  kBetween = 1 << 1,   ///< between tile and loop level
  kLoops = 1 << 2,     ///< loop level: no tiles and blocks
  kPrograms = 1 << 3,  ///< programs
  kTests = 1 << 4,     ///< programs that are tests: interpreted only
  kContracts = 1 << 5,
  kAbove = kTiles | kBetween,  ///< gone at loop level
  kBelow = kBetween | kLoops,  ///< made by passes
  kKernels = kTiles | kBetween | kLoops,
  kAnywhere = kKernels | kPrograms | kContracts,
};

enum Trait : uint32_t {
  // What running it does: each op has one of these.
  kPure = 1 << 0,         ///< nothing: may be removed when unused and merged with its equal
  kRepeats = 1 << 1,      ///< each core may do the same, and nobody sees whether it did
  kActs = 1 << 2,         ///< something that others see
  kElementwise = 1 << 3,  ///< maps scalars; result axes are the union of the operands' axes
  kTraps = 1 << 4,        ///< may stop the core
  kTerminator = 1 << 5,   ///< ends a block
  kSuspends = 1 << 6,     ///< may wait for another stage
  kSyncs = 1 << 7,        ///< waits for all cores
  kFreed = 1 << 8,        ///< makes a tensor that a program frees after its last use
  kPlans = 1 << 9,        ///< of programs: passes make it, and nothing checks where they put it
};

/// What an op does with an operand.
enum class Effect : uint8_t {
  Value,       ///< it computes with it
  Index,       ///< indices: of an access the values that its terms count
  Mask,        ///< where this is false nothing happens
  Read,        ///< of memory: the elements
  Write,       ///<
  Change,      ///< some of them: the others stay
  Accumulate,  ///< each becomes more
  Shows,       ///< of memory: where it is, not what it holds
  ByCallee,    ///< what the callee does with its parameter
  Awaits,      ///< events: the op begins once they have come
};
enum class Arity : uint8_t { One, Optional, Many };

struct OperandSpec {
  std::string_view name;
  Arity arity = Arity::One;
  Effect effect = Effect::Value;
};

struct AttrSpec {
  AttrKey key = AttrKey::Access;
  bool required = false;
};

/// A few entries of a constant table.
template <class T, size_t capacity>
class ShortList {
 public:
  constexpr ShortList(std::initializer_list<T> items) {
    for (const T& item : items) items_[size_++] = item;
  }
  constexpr size_t size() const { return size_; }
  constexpr const T& operator[](size_t i) const { return items_[i]; }
  constexpr const T* begin() const { return items_; }
  constexpr const T* end() const { return items_ + size_; }

 private:
  T items_[capacity] = {};
  size_t size_ = 0;
};

struct OpInfo {
  OpKind kind;
  std::string_view spelling;
  ShortList<OperandSpec, 5> operands;
  int results;
  ShortList<AttrSpec, 7> attrs;
  uint32_t places;
  uint32_t traits;
  int regions;
  std::string_view format;
  std::string_view meaning;

  constexpr bool has(Trait trait) const { return (traits & trait) != 0; }
  constexpr bool stands_in(uint32_t some_places) const { return (places & some_places) != 0; }
  /// Elementwise by a function of numbers (ir/eval/eval.h), as all such are but the call.
  constexpr bool is_computed() const { return has(kElementwise) && kind != OpKind::Call; }
  constexpr bool has_operand(Effect effect) const {
    for (const OperandSpec& spec : operands) {
      if (spec.effect == effect) return true;
    }
    return false;
  }
  /// Programs order it with what else touches the same tensors.
  constexpr bool is_ordered() const {
    return has_operand(Effect::Awaits) &&
           (has_operand(Effect::Read) || has_operand(Effect::Write) ||
            has_operand(Effect::Change) || has_operand(Effect::ByCallee));
  }
};

/// The number of the row's operand with the effect, of which it has one.
size_t OperandWith(OpKind kind, Effect effect);
/// The table's row of an op.
const OpInfo& Info(OpKind kind);
std::optional<OpKind> OpFromSpelling(std::string_view spelling);
}  // namespace kdl::ir
