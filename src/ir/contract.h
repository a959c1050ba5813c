#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/names.h"
#include "support/scalar.h"
#include "support/size.h"
#include "support/source.h"

// Contracts: what `requires`, `ensures` and `expect` say, beside KIR. Index notation over whole tensors, in which every
// float is an f64 and every integer an i64. No pass reads them; interp/contract.h evaluates them.
namespace kdl::ir {

/// Names of nodes, indices, tensors and equations: places in the contract's tables.
using ContractId = uint32_t;

/// An index name: it walks 0..extent.
struct ContractIndex {
  Name name;
  Size extent = nullptr;
};

enum class ContractTensorKind : uint8_t { Argument, Old, Auxiliary };
struct ContractTensor {
  ContractTensorKind kind = ContractTensorKind::Argument;
  Name name;
  Scalar scalar = Scalar::F64;  ///< in memory; of an Auxiliary f64, i64 or bool
  std::vector<Size> dims;
  uint32_t argument =
      0;  ///< Argument, Old: which of the function's parameters or of the op's operands
};

/// One dimension of a load: offset + the sum of coefficient * (index or node).
struct ContractTerm {
  Size coefficient = nullptr;
  std::optional<ContractId> index;
  ContractId node = 0;  ///< where there is no index: an integer
};
struct ContractDim {
  std::vector<ContractTerm> terms;
  Size offset = nullptr;
};

enum class ContractKind : uint8_t {
  Constant,  ///< bits
  Size,      ///< size, an i64 or, converted, an f64
  Index,     ///< id: the index name's value
  Argument,  ///< id: a scalar argument
  Load,      ///< id: a tensor, dims; one operand, the value of `else`, or none
  Map,       ///< map of the operands
  Select,    ///< operands: condition, then, else; a branch is evaluated only where it is taken
  Reduce,    ///< reduce of the operand over indices, the last fastest
  Call,      ///< callee: a fn, with the operands, in its own types
};

enum class ContractMap : uint8_t {
#define KDL_CONTRACT_MAP(name, spelling) name,
#include "ir/contract_maps.def"
};
/// The function of this spelling, if there is one.
std::optional<ContractMap> FindContractMap(std::string_view spelling);

enum class ContractReduce : uint8_t { Sum, Prod, Max, Min, Any, All, Mean, ArgMax, ArgMin };

struct ContractNode {
  ContractKind kind = ContractKind::Constant;
  Scalar scalar = Scalar::F64;  ///< f64, i64 or bool
  std::vector<ContractId> operands;
  uint64_t bits = 0;
  kdl::Size size = nullptr;
  ContractId id = 0;
  ContractMap map = ContractMap::Add;
  ContractReduce reduce = ContractReduce::Sum;
  std::vector<ContractId> over;
  std::vector<ContractDim> dims;
  std::string callee;  ///< the fn instance
  Span span;
};

/// `name[indices] = value` where it defines, else `target ~(rtol, atol) value`.
struct ContractEquation {
  Span span;
  std::vector<ContractId> free;       ///< the indices that it holds for
  std::optional<ContractId> defines;  ///< an Auxiliary; `free` are then its dimensions, in order
  ContractId target = 0;              ///< a Load, of an equation that compares
  ContractId value = 0;
  std::optional<ContractId> rtol;
  std::optional<ContractId> atol;
};
/// A condition, for all values of the free indices.
struct ContractCondition {
  Span span;
  std::vector<ContractId> free;
  ContractId value = 0;
};

/// The contract of a function.
struct Contract {
  std::string function;  ///< the kernel instance, `matmul.f32`
  std::vector<ContractIndex> indices;
  std::vector<ContractTensor> tensors;
  std::vector<ContractNode> nodes;  ///< operands before users
  std::vector<ContractCondition> requirements;
  std::vector<ContractEquation> equations;  ///< of `ensures`, in source order

  ContractId Add(ContractNode node) {
    nodes.push_back(std::move(node));
    return static_cast<ContractId>(nodes.size() - 1);
  }
};

}  // namespace kdl::ir
