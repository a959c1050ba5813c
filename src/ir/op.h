#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/type.h"
#include "support/names.h"

namespace kdl::ir {

enum class OpKind : uint8_t;  // ir/op_kind.h
struct OpInfo;                // ir/op_info.h
enum class Effect : uint8_t;  // ir/op_info.h
class Op;
class Region;
struct Function;

struct CallSite;

/// The source location of an op, for traps, diagnostics and debuggers. Line 0 means that the op has none.
struct Loc {
  Name file;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t length = 0;  ///< in bytes
  /// The call of the fn that contains the location, if the op is from an inlined fn. Otherwise null.
  const CallSite* call = nullptr;
  bool operator==(const Loc&) const = default;
};

/// A call that was inlined. A Context has only one CallSite for each function and location, so they can be compared by
/// address.
struct CallSite {
  Name function;  ///< the name of the fn in KIR, such as `relu.f32`
  Loc at;         ///< where the call is
};

struct Use {
  Op* user;
  uint32_t operand;
};

/// A result of an op or a parameter of a region.
class Value {
 public:
  Type type() const { return type_; }
  void set_type(Type type) { type_ = type; }
  Name name() const { return name_; }
  void set_name(Name name) { name_ = name; }
  /// The op that defines the value as its result; null for a region parameter.
  Op* def() const { return def_; }
  /// The region that has the value as its parameter; null for a result.
  Region* parent_region() const { return region_; }
  uint32_t index() const { return index_; }
  const std::vector<Use>& uses() const { return uses_; }
  void ReplaceAllUsesWith(Value* other);

  Value(Type type, Name name, Op* def, Region* region, uint32_t index)
      : type_(type), name_(name), def_(def), region_(region), index_(index) {}

 private:
  friend class Op;
  friend class Region;
  friend class Builder;
  Type type_;
  Name name_;
  Op* def_;
  Region* region_;
  uint32_t index_;
  std::vector<Use> uses_;
};

/// An operation. Created by a Builder, owned by the arena of its Module, and removed by Erase.
class Op {
 public:
  OpKind kind() const { return kind_; }
  const OpInfo& info() const;
  Loc loc() const { return loc_; }
  void set_loc(Loc loc) { loc_ = loc; }

  const std::vector<Value*>& operands() const { return operands_; }
  Value* operand(size_t i) const { return operands_[i]; }
  void SetOperand(size_t i, Value* value);
  /// The operands that belong to operand number `spec` in the op table: one for ONE, at most one for OPT, any
  /// number for MANY.
  std::span<Value* const> Segment(size_t spec) const;
  size_t segments() const { return segment_ends_.size(); }
  size_t SegmentBegin(size_t spec) const { return spec == 0 ? 0 : segment_ends_[spec - 1]; }
  void SetSegment(size_t spec, std::span<Value* const> values);

  const std::vector<Value*>& results() const { return results_; }
  Value* result(size_t i = 0) const { return results_[i]; }

  const std::vector<Attr>& attrs() const { return attrs_; }
  bool HasAttr(AttrKey key) const { return FindAttr(key) != nullptr; }
  template <AttrKey key>
  typename AttrTraits<key>::Type attr() const {
    using T = typename AttrTraits<key>::Type;
    const AttrValue& value = Required(key);
    if constexpr (std::is_enum_v<T>) {
      return static_cast<T>(std::get<int64_t>(value));
    } else {
      return std::get<T>(value);
    }
  }
  /// Adds the attribute, or replaces the value that the op has for its key.
  void SetAttr(Attr attr);
  void RemoveAttr(AttrKey key);
  const Attr* FindAttr(AttrKey key) const;

  const std::vector<Region*>& regions() const { return regions_; }
  Region* region(size_t i = 0) const { return regions_[i]; }

  Region* parent_region() const { return region_; }
  Op* prev() const { return prev_; }
  Op* next() const { return next_; }

 private:
  friend class Region;
  friend class Builder;
  friend void Erase(Op* op);
  const AttrValue& Required(AttrKey key) const;
  void DropOperands();

  OpKind kind_;
  Loc loc_;
  std::vector<Value*> operands_;
  std::vector<uint32_t> segment_ends_;
  std::vector<Value*> results_;
  std::vector<Attr> attrs_;
  std::vector<Region*> regions_;
  Region* region_ = nullptr;
  Op* prev_ = nullptr;
  Op* next_ = nullptr;
};

/// A list of ops with parameters: the body of a function or a region of an op.
class Region {
 public:
  const std::vector<Value*>& params() const { return params_; }
  Value* param(size_t i) const { return params_[i]; }
  Op* first() const { return first_; }
  Op* last() const { return last_; }
  bool empty() const { return first_ == nullptr; }
  /// The op that this region belongs to; null for the body of a function.
  Op* parent() const { return parent_; }
  Function* function() const { return function_; }
  /// The yield or return at the end.
  Op* terminator() const { return last_; }

  void set_function(Function* function) { function_ = function; }
  void InsertBefore(Op* op, Op* before);  ///< appends the op if `before` is null
  void EraseParam(size_t index);          ///< the parameter must not have uses
  void Remove(Op* op);                    ///< unlinks the op, which keeps its operands

  class Iterator {
   public:
    explicit Iterator(Op* op) : op_(op), next_(op ? op->next() : nullptr) {}
    Op* operator*() const { return op_; }
    /// The current op may be erased or moved during the iteration.
    Iterator& operator++() { return *this = Iterator(next_); }
    bool operator!=(const Iterator& other) const { return op_ != other.op_; }

   private:
    Op* op_;
    Op* next_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  friend class Builder;
  std::vector<Value*> params_;
  Op* first_ = nullptr;
  Op* last_ = nullptr;
  Op* parent_ = nullptr;
  Function* function_ = nullptr;
};

/// Removes an op and everything nested in it. Its results must not have uses.
void Erase(Op* op);

/// Calls `visit` for every op in `region`, including nested ops, from first to last. Inner ops are visited
/// before the ops that contain them. `visit` may erase its op.
template <class Visit>
void Walk(const Region* region, Visit&& visit) {
  for (Op* op : *region) {
    for (Region* nested : op->regions()) Walk(nested, visit);
    visit(op);
  }
}

}  // namespace kdl::ir
