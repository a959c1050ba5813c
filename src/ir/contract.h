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

// What `requires`, `ensures` and `expect` say: a KIR function of the kind `contract` for each condition and equation, which
// gives its value for one choice of the free index names. Every float is an f64 there, with the bound of its rounding
// (ir/eval/bound.h); integers have 64 bits, in the fns that are called their own types. The functions stand in a module of their
// own, which no pass sees.
namespace kdl::ir {

/// An index name: it walks 0..extent.
struct ContractIndex {
  Name name;
  Size extent = nullptr;
};

/// What a parameter of a contract's function is.
enum class ContractInput : uint8_t {
  Argument,   ///< number: of the function's parameters, or of the operands of an `expect`
  Old,        ///< the same before the run
  Index,      ///< number: of the clause's free names
  Auxiliary,  ///< number: of the contract's auxiliaries
  Kept,       ///< a table of the run's own, zero at first: what a reduction has given
  KeptSmall,  ///< the same, empty where it would have more than kMostKept elements
};
inline constexpr int64_t kMostKept = int64_t{1} << 24;
struct ContractParam {
  ContractInput input = ContractInput::Argument;
  uint32_t number = 0;
  bool bound = false;  ///< Auxiliary: the bounds of its elements
};

/// One condition or equation.
struct Clause {
  Span span;
  Function* function = nullptr;
  std::vector<ContractParam> params;  ///< of the function's, in their order
  std::vector<ContractIndex> free;    ///< it is about each of their values
  std::optional<uint32_t> defines;    ///< an equation `name[free] = …`: the auxiliary
  std::optional<uint32_t> compares;   ///< another equation: the argument on its left side
  Name compared;                      ///< that argument's
  bool has_rtol = false;
  bool has_atol = false;

  std::vector<Size> terms;    ///< of each reduction: how many terms are evaluated for all elements
  std::vector<Size> folded;   ///< of each reduction, also after auxiliaries: the terms of one value
  bool reads_narrow = false;  ///< also after auxiliaries: a float tensor that is no f64
};

/// A name that an equation defines, over its free names.
struct Auxiliary {
  Name name;
  Scalar scalar = Scalar::F64;  ///< f64, i64, u64 or bool
  std::vector<Size> dims;
};

/// The contract of a function. What its clauses give: a requirement whether it holds; an equation that defines the value;
/// one that compares what is found, the index of that element, the value and, where they are stated, rtol and atol. After
/// another value that is a float stands its bound.
struct Contract {
  std::string function;            ///< the kernel instance, `matmul.f32`
  const Module* module = nullptr;  ///< of the clauses' functions
  std::vector<Auxiliary> auxiliaries;
  std::vector<Clause> requirements;
  std::vector<Clause> equations;  ///< of `ensures`, in source order
};

/// All contracts of a compile.
struct Contracts {
  std::unique_ptr<Module>
      module;  ///< of their functions; of a text those that stand in it, without more
  std::vector<Contract> list;
};

}  // namespace kdl::ir
