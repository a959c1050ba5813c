#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "ir/op.h"
#include "support/names.h"
#include "support/scalar.h"

// The variables of the source, for debuggers. Values of KIR have the names of variables, and ops have source locations, and
// passes keep both. This table says which variable a name stands for at a location, so KIR needs nothing else.

namespace kdl::codegen {

/// A position in a file; a position further down compares greater.
struct SourcePlace {
  uint32_t line = 0;
  uint32_t column = 0;
  auto operator<=>(const SourcePlace&) const = default;
};

enum class VariableKind : uint8_t {
  Scalar,
  Tile,
  Tensor,  ///< a parameter
  Range,   ///< KIR has its block's start and size, such as `%i.start` and `%i.size`
  Tuple,   ///< its elements are variables of their own, such as `m.0`
};

struct SourceVariable {
  Name name;
  VariableKind kind = VariableKind::Scalar;
  Scalar scalar = Scalar::I64;
  std::vector<Name> ranges;  ///< only for a tile
  std::vector<Size> sizes;   ///< of a tensor, or of a range that has only one block
  /// For a parameter, its number from 1; a size is a parameter too. 0 for other variables.
  uint32_t parameter = 0;
  SourcePlace declared;
  /// The text in which the name stands for this variable.
  SourcePlace begin, end;
  std::optional<uint64_t> constant;       ///< the bits of a scalar that is always the same
  const SourceVariable* tuple = nullptr;  ///< for an element of a tuple: the tuple
  std::vector<SourceVariable*> elements;  ///< only for a tuple

  /// A statement that gives the variable a value.
  struct Assignment {
    SourcePlace begin, end;
    const SourceVariable* copied = nullptr;  ///< set if the value is that of another variable
  };
  std::vector<Assignment> assignments;  ///< in source order

  bool IsIn(SourcePlace place) const { return begin <= place && place < end; }
};

/// A call of a fn, which passes inline.
struct SourceCall {
  /// What the call gives for a parameter, a range, or an element of a tuple that is a parameter.
  struct Argument {
    const SourceVariable* parameter = nullptr;  ///< a variable of the fn
    const SourceVariable* copied = nullptr;     ///< a variable of the caller
    std::optional<uint64_t> constant;
  };
  SourcePlace begin, end;
  Name function;  ///< as in KIR
  std::vector<Argument> arguments;
};

/// A fn or kernel as it is compiled for one choice of its type parameters.
struct SourceFunction {
  Name name;    ///< as in KIR, such as `matmul.f32`
  ir::Loc loc;  ///< of its name in the source
  SourcePlace begin, end;
  std::deque<SourceVariable> variables;  ///< in source order
  std::vector<SourceCall> calls;
  std::vector<SourcePlace> spmds;  ///< where loops over blocks begin
};

/// The functions of a compilation.
struct SourceVariables {
  std::deque<SourceFunction> functions;

  /// Returns the function with this name, if the location is in it. Otherwise returns any function that contains the
  /// location, or null.
  const SourceFunction* FindFunction(Name name, const ir::Loc& loc) const;
};

}  // namespace kdl::codegen
