#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "ir/attr.h"
#include "ir/op_kind.h"

// The properties of an op in the op table (ops.def).

namespace kdl::ir {

inline constexpr int kManyResults = -1;

/// Where an op may be used. Kernels and fns are lowered from level to level.
enum Place : uint32_t {
  kTiles = 1 << 0,     ///< tile level: the ops that sources are translated to
  kBetween = 1 << 1,   ///< between tile and loop level
  kLoops = 1 << 2,     ///< loop level: no tiles or blocks
  kPrograms = 1 << 3,  ///< programs
  kTests = 1 << 4,     ///< programs of tests, which are only interpreted
  kContracts = 1 << 5,
  kAbove = kTiles | kBetween,  ///< ops that must not exist at loop level
  kBelow = kBetween | kLoops,  ///< created only by passes
  kKernels = kTiles | kBetween | kLoops,
  kAnywhere = kKernels | kPrograms | kContracts,
};

enum Trait : uint32_t {
  // The first three traits describe the effect of the op; each op has exactly one of them.
  kPure = 1 << 0,         ///< no effect: may be removed if unused, and merged with an equal op
  kRepeats = 1 << 1,      ///< a core may execute it again without other cores noticing
  kActs = 1 << 2,         ///< has an effect that can be observed, for example by other cores
  kElementwise = 1 << 3,  ///< maps scalars; the result has the union of the operands' axes
  kTraps = 1 << 4,        ///< may stop the core
  kTerminator = 1 << 5,   ///< ends a region
  kSuspends = 1 << 6,     ///< may wait for another stage
  kSyncs = 1 << 7,        ///< waits for all cores
  kFreed = 1 << 8,        ///< creates a tensor that a program frees after its last use
  kPlans = 1 << 9,        ///< only passes create it, in programs; untrusted text cannot contain it
};

/// How an op uses an operand.
enum class Effect : uint8_t {
  Value,       ///< computes with it
  Index,       ///< uses it as an index, to which a term of the op's access refers
  Mask,        ///< uses it as a condition: does nothing at points where it is false
  Read,        ///< reads elements of memory
  Write,       ///< writes all elements of memory
  Change,      ///< writes some of the elements; the others keep their values
  Accumulate,  ///< combines each element with a value
  Shows,       ///< uses the location of the memory, but not its contents
  ByCallee,    ///< depends on how the callee uses its parameter
  Awaits,      ///< waits until this event has completed before it starts
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

/// A list of limited length in a constant table.
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
  ShortList<OperandSpec, 6> operands;
  int results;
  ShortList<AttrSpec, 8> attrs;
  uint32_t places;
  uint32_t traits;
  int regions;
  std::string_view format;
  std::string_view meaning;

  constexpr bool has(Trait trait) const { return (traits & trait) != 0; }
  constexpr bool is_in(uint32_t some_places) const { return (places & some_places) != 0; }
  /// Returns whether the op is elementwise and computed by a function on numbers (ir/eval/eval.h). This is
  /// true for all elementwise ops except call.
  constexpr bool is_computed() const { return has(kElementwise) && kind != OpKind::Call; }
  constexpr bool has_operand(Effect effect) const {
    for (const OperandSpec& spec : operands) {
      if (spec.effect == effect) return true;
    }
    return false;
  }
  /// Returns whether programs order the op relative to other accesses to the tensors that it uses.
  constexpr bool is_ordered() const {
    return has_operand(Effect::Awaits) &&
           (has_operand(Effect::Read) || has_operand(Effect::Write) ||
            has_operand(Effect::Change) || has_operand(Effect::ByCallee));
  }
};

/// Returns the number, in the op table, of the only operand with this effect.
size_t OperandWith(OpKind kind, Effect effect);
/// Returns the op's row in the op table.
const OpInfo& Info(OpKind kind);
std::optional<OpKind> OpFromSpelling(std::string_view spelling);
}  // namespace kdl::ir
