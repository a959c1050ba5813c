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
// float is an f64 and every integer an i64. In the fns that they call every float is an f64, too; integers keep their
// types there, so that they wrap as in kernels. No pass reads contracts; interp/contract.h evaluates them.
namespace kdl::ir {

/// Names of nodes, indices, tensors and equations: places in the contract's tables.
using ContractId = uint32_t;

/// An index name: it walks 0..extent.
struct ContractIndex {
  Name name;
  Size extent = nullptr;
};

enum class ContractTensorKind : uint8_t { Argument, Old, Auxiliary, Table };
struct ContractTensor {
  ContractTensorKind kind = ContractTensorKind::Argument;
  Name name;
  Scalar scalar = Scalar::F64;  ///< in memory; of an Auxiliary f64, i64 or bool
  std::vector<Size> dims;
  uint32_t argument =
      0;  ///< Argument, Old: which of the function's parameters or of the op's operands
  std::vector<uint64_t> elements;  ///< Table: their bits, the last dimension fastest
  bool IsOfArgument() const {
    return kind == ContractTensorKind::Argument || kind == ContractTensorKind::Old;
  }
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
  Fold,  ///< the same with the fn `id`: operands are the parts of a term, then of the identity; gives `part`
  Call,  ///< id: a fn, with the operands; gives `part`
  Slot,  ///< id: a variable of the fn around
};

enum class ContractMap : uint8_t {
#define KDL_CONTRACT_MAP(name, spelling) name,
#include "ir/contract_maps.def"
};
/// The function of this spelling, if there is one.
std::optional<ContractMap> FindContractMap(std::string_view spelling);

enum class ContractReduce : uint8_t { Sum, Prod, Max, Min, Any, All, Mean, ArgMax, ArgMin };
enum class ContractScan : uint8_t { None, Ascending, Descending };

struct ContractNode {
  ContractKind kind = ContractKind::Constant;
  Scalar scalar = Scalar::F64;  ///< f64, i64 or bool; in a fn what it is there
  std::vector<ContractId> operands;
  uint64_t bits = 0;
  kdl::Size size = nullptr;
  ContractId id = 0;
  ContractMap map = ContractMap::Add;
  ContractReduce reduce = ContractReduce::Sum;
  std::vector<ContractId> over;
  std::vector<ContractDim> dims;
  ContractScan scan = ContractScan::None;  ///< Reduce, Fold: of what is up to the index `over`
  bool exclusive = false;                  ///< a scan that leaves the index itself out
  uint32_t part = 0;                       ///< Fold, Call: of the tuple that the fn gives
  Scalar pattern = Scalar::F64;            ///< Map of bits and from_bits: the operand's type
  Name name;                               ///< Argument: the parameter's
  Span span;
};

enum class ContractStatementKind : uint8_t {
  Assign,  ///< slots = values
  If,      ///< values: the condition; body, other
  Loop,    ///< while the condition holds: body, then `other`, to which `continue` goes
  Break,
  Continue,
  Return,  ///< values
  Assert,  ///< values: the condition
};
struct ContractStatement {
  ContractStatementKind kind = ContractStatementKind::Assign;
  Span span;
  std::vector<ContractId> slots;
  std::vector<ContractId> values;
  std::vector<ContractStatement> body;
  std::vector<ContractStatement> other;
};
/// A fn of scalars. Its parameters' parts are its first slots.
struct ContractFunction {
  Name name;
  uint32_t slots = 0;
  uint32_t parts = 1;  ///< of what it gives
  std::vector<ContractStatement> body;
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
  std::vector<ContractFunction> functions;
  std::vector<ContractCondition> requirements;
  std::vector<ContractEquation> equations;  ///< of `ensures`, in source order

  ContractId Add(ContractNode node) {
    nodes.push_back(std::move(node));
    return static_cast<ContractId>(nodes.size() - 1);
  }
};

}  // namespace kdl::ir
