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

// How `requires`, `ensures` and `expect` are represented: each condition and equation is a KIR function of
// kind `contract`, which computes its value for one choice of the free index names. In it, every float is an
// f64 with a bound of its rounding error (ir/eval/bound.h), and integers have 64 bits; fns that it calls keep
// the types of their own integers. These functions are in a separate module, which no pass sees.
namespace kdl::ir {

/// An index name, which ranges over 0..extent.
struct ContractIndex {
  Name name;
  Size extent = nullptr;
};

/// Where the value of a parameter of a contract's function comes from.
enum class ContractInput : uint8_t {
  /// An argument; `number` is that of the function's parameter or of the `expect`'s operand.
  Argument,
  Old,        ///< the same argument as it was before the run
  Index,      ///< an index name; `number` is that of the clause's free name
  Auxiliary,  ///< an auxiliary of the contract; `number` says which one
  Kept,       ///< a table, zero at first, in which a reduction keeps its results during a run
  KeptSmall,  ///< the same, but empty if it would have more than kMostKept elements
};
inline constexpr int64_t kMostKept = int64_t{1} << 24;
struct ContractParam {
  ContractInput input = ContractInput::Argument;
  uint32_t number = 0;
  bool bound = false;  ///< Auxiliary: the bounds of its elements instead of their values
};

/// One condition or equation.
struct Clause {
  Span span;
  Function* function = nullptr;
  std::vector<ContractParam> params;  ///< the function's parameters, in order
  /// The clause is evaluated for each combination of their values.
  std::vector<ContractIndex> free;
  std::optional<uint32_t> defines;   ///< for an equation `name[free] = …`: the auxiliary
  std::optional<uint32_t> compares;  ///< for another equation: the argument on its left side
  Name compared;                     ///< the name of that argument
  bool has_rtol = false;
  bool has_atol = false;

  /// For each reduction: how many terms are evaluated for all elements together.
  std::vector<Size> terms;
  /// For each reduction, including those in auxiliaries: the terms of one value.
  std::vector<Size> folded;
  /// Whether it reads, perhaps in an auxiliary, a float tensor other than f64.
  bool reads_narrow = false;
};

/// A name that an equation defines, with one value for each combination of its free names.
struct Auxiliary {
  Name name;
  Scalar scalar = Scalar::F64;  ///< f64, i64, u64 or bool
  std::vector<Size> dims;
};

/// The contract of a function. The function of a requirement returns whether it is satisfied, that of an
/// equation which defines a name returns the value. The function of a comparing equation returns the value
/// found, the index of that element, the expected value and, if stated, rtol and atol. Each float value
/// except the one found is followed by its bound.
struct Contract {
  std::string function;            ///< the kernel instance, such as `matmul.f32`
  const Module* module = nullptr;  ///< of the clauses' functions
  std::vector<Auxiliary> auxiliaries;
  std::vector<Clause> requirements;
  std::vector<Clause> equations;  ///< from `ensures`, in source order
};

/// All contracts of a compilation.
struct Contracts {
  /// Contains the functions of all contracts or, for .kir text, those that the text contains.
  std::unique_ptr<Module> module;
  std::vector<Contract> list;
};

}  // namespace kdl::ir
