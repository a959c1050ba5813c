#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interp/contract.h"
#include "interp/contract_maps.h"

// A contract made ready for one run: sizes are numbers, tensors lie in f64 or i64, and reductions that few indices
// decide keep what they gave.
namespace kdl::interp {

/// A tensor of the contract, row-major: `real` of floats, else `integer`.
struct ContractArray {
  std::vector<int64_t> sizes;
  std::vector<double> real;
  std::vector<int64_t> integer;
  std::vector<double> error;  ///< of an auxiliary float; else empty: no error
};

struct ContractTermPlan {
  int64_t coefficient = 0;
  std::optional<ir::ContractId> index;
  ir::ContractId node = 0;
};
struct ContractDimPlan {
  std::vector<ContractTermPlan> terms;
  int64_t offset = 0;
};

/// What a node's value was for each value of `indices`: made at first need.
struct ContractMemo {
  std::vector<ir::ContractId> indices;
  std::vector<ContractValue> values;
  std::vector<bool> known;
};

struct ContractPlan {
  const ir::ContractNode* node = nullptr;
  Scalar operand = Scalar::F64;  ///< the type of the first operand
  ContractValue constant;        ///< of Constant, Size and Argument
  std::vector<ContractDimPlan> dims;
  std::optional<ContractMemo> memo;
};

/// The next point of a walk, the last index fastest; false where it was the last.
bool Advance(std::vector<int64_t>& at, const std::vector<ir::ContractId>& indices,
             const std::vector<int64_t>& extents);
/// The index names that decide a node's value: those that no reduction inside binds.
std::set<ir::ContractId> FreeIn(const ir::Contract& contract, ir::ContractId id);
/// The bit pattern of element `place` of a memory, zero-extended.
uint64_t ElementAt(const void* memory, Scalar scalar, int64_t place);
/// A float's value, an integer's or bool's number.
ContractValue ValueOfBits(Scalar scalar, uint64_t bits);

/// Walks index names and evaluates nodes. A fault (an index outside, a division by 0) is kept, the first one, and the walk
/// goes on with 0.
class ContractEvaluator {
 public:
  ContractEvaluator(const ir::Contract& contract, const ContractData& data);

  /// Calls `body` for every value of the indices, until it gives false.
  template <class Body>
  void Walk(const std::vector<ir::ContractId>& indices, Body body) {
    for (ir::ContractId index : indices) {
      if (extents_[index] <= 0) return;
      at_[index] = 0;
    }
    do {
      if (!body()) return;
    } while (Advance(at_, indices, extents_));
  }

  ContractValue Eval(ir::ContractId id);
  /// The present index of a load, by dimension; `in` is whether it is inside.
  std::vector<int64_t> IndexOf(ir::ContractId load);
  /// Makes the auxiliary that the equation defines.
  void Define(const ir::ContractEquation& equation);
  /// Before an equation's value is evaluated: lets reductions keep values.
  void KeepIn(const ir::ContractEquation& equation);
  /// The first fault, which is then forgotten.
  std::optional<ContractFailure> TakeFault();

  const ir::Contract& contract() const { return contract_; }
  const ContractData& data() const { return data_; }
  int64_t at(ir::ContractId index) const { return at_[index]; }
  const ContractArray& array(ir::ContractId tensor) const { return arrays_[tensor]; }
  int64_t extent(ir::ContractId index) const { return extents_[index]; }

 private:
  ContractArray Read(const ir::ContractTensor& tensor) const;
  ContractPlan Plan(const ir::ContractNode& node) const;
  void Keep(ir::ContractId id, std::set<ir::ContractId> around);
  int64_t IndexIn(const ContractDimPlan& dim);
  ContractValue Load(const ContractPlan& plan);
  ContractValue Map(const ContractPlan& plan);
  size_t PlaceIn(const ContractMemo& memo) const;
  ContractValue Remembered(ContractPlan& plan);

  // contract_reduce.cpp
  ContractValue Reduce(ContractPlan& plan);
  ContractValue Scan(ContractPlan& plan);

  // contract_call.cpp
  enum class Flow : uint8_t { Next, Break, Continue, Return };
  std::vector<ContractValue> EvalEach(const std::vector<ir::ContractId>& ids);
  /// What the fn gives for these values of its parameters.
  std::vector<ContractValue> Call(ir::ContractId function, const std::vector<ContractValue>& args);
  Flow Run(const std::vector<ir::ContractStatement>& statements);
  Flow RunOne(const ir::ContractStatement& statement);
  Flow RunLoop(const ir::ContractStatement& loop);
  friend class ContractRunning;

  void Fault(Span span, std::string text);

  const ir::Contract& contract_;
  const ContractData& data_;
  std::vector<int64_t> at_;       ///< the present value of each index name
  std::vector<int64_t> extents_;  ///< of each index name
  std::vector<ContractArray> arrays_;
  std::vector<ContractPlan> plans_;
  std::vector<ContractValue> slots_;  ///< of the fns that run, the innermost last
  size_t frame_ = 0;                  ///< where its slots begin
  std::vector<ContractValue> given_;  ///< what the last `return` gave
  std::optional<ContractFailure> fault_;
};

}  // namespace kdl::interp
