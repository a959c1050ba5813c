#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "support/names.h"
#include "support/size.h"
#include "support/source.h"

// Defines how `requires`, `ensures` and `expect` are represented. Each condition and each equation is a KIR
// function of kind `contract`, which computes its value for one choice of the free index names. In such a
// function, every float is an f64 with a bound on its rounding error (ir/eval/bound.h), and integers have 64
// bits. A fn that it calls keeps its own integer types. The functions are in a separate module, which passes
// do not process.
namespace kdl::ir {

/// An index name of an equation, with values from 0 to extent - 1.
struct ContractIndex {
  Name name;
  Size extent = nullptr;
};

/// Says from where a parameter of a contract's function gets its value.
enum class ContractInput : uint8_t {
  /// An argument; `number` is the number of the kernel's parameter or of the `expect`'s operand.
  Argument,
  Old,        ///< the value of the same argument before the run
  Index,      ///< an index name; `number` is its number in Clause::free
  Auxiliary,  ///< an auxiliary of the contract; `number` is its number
  Kept,       ///< a table, initially zero, in which a reduction keeps its results during a run
  KeptSmall,  ///< like `Kept`, but empty if it would have more than kMostKept elements
};
inline constexpr int64_t kMostKept = int64_t{1} << 24;
struct ContractParam {
  ContractInput input = ContractInput::Argument;
  uint32_t number = 0;
  /// For Auxiliary: the parameter gets the bounds of the elements, not their values.
  bool bound = false;
};

/// One condition or equation.
struct Clause {
  Span span;
  Function* function = nullptr;
  std::vector<ContractParam> params;  ///< one for each parameter of the function
  /// The index names. The clause is evaluated for each combination of their values.
  std::vector<ContractIndex> free;
  /// For an equation `name[free] = …`: the number of the auxiliary.
  std::optional<uint32_t> defines;
  /// For any other equation: the number of the argument on its left side.
  std::optional<uint32_t> compares;
  Name compared;  ///< the name of that argument
  /// For an equation that compares a counted output with a list: the number of the auxiliary that says which elements the
  /// list has. Its indices are the first ones of `free`, and the others are those of the output after the first.
  std::optional<uint32_t> selects;
  uint32_t counter =
      0;  ///< for a list: the number of the argument that counts the elements of the output
  bool is_exact = false;  ///< for a list: whether no difference is allowed
  bool has_rtol = false;
  bool has_atol = false;

  /// For each reduction of the clause, the number of terms that it evaluates for all elements together.
  std::vector<Size> terms;
  /// For each reduction of the clause, and of the auxiliaries that it reads, the number of terms of one
  /// value.
  std::vector<Size> folded;
  /// Whether the clause reads a tensor of floats narrower than f64, directly or through an auxiliary.
  bool reads_narrow = false;
};

/// A name that an equation defines. It has one value for each combination of the equation's free index names.
struct Auxiliary {
  Name name;
  Scalar scalar = Scalar::F64;  ///< f64, i64, u64 or bool
  std::vector<Size> dims;
};

/// The contract of a function. The KIR function of a requirement returns whether it is satisfied. The KIR
/// function of an equation that defines a name returns the value of that name. For any other equation, it
/// returns the actual value, the index of that element, the expected value and, if stated, rtol and atol.
/// Each float except the actual value is followed by its bound.
struct Contract {
  std::string function;            ///< the kernel instance, such as `matmul.f32`
  const Module* module = nullptr;  ///< contains the functions of the clauses
  std::vector<Auxiliary> auxiliaries;
  std::vector<Clause> requirements;
  std::vector<Clause> equations;  ///< from `ensures`, in source order
};

/// All contracts of a compilation.
struct Contracts {
  /// Contains the functions of all contracts. For a .kir file, these are the contract functions in that file.
  std::unique_ptr<Module> module;
  std::vector<Contract> list;
};

}  // namespace kdl::ir
