#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interp/contract_data.h"
#include "interp/machine.h"
#include "ir/contract.h"

namespace kdl::interp {

/// The elements of an auxiliary, which is a tensor that an equation of a contract defines. They are
/// row-major, in their memory format.
struct AuxiliaryValues {
  std::vector<std::byte> values;
  /// If the values are f64: a bound on each value, for error estimates.
  std::vector<std::byte> bounds;
};

/// Executes the function to which a clause of a contract (an equation or a condition) was compiled. The
/// function is called once for each combination of values of the clause's indices.
class ClauseRun {
 public:
  /// `auxiliaries` contains the tensors that earlier equations of the contract define. All arguments must
  /// outlive this object.
  ClauseRun(const ir::Contract& contract, const ir::Clause& clause, const ContractData& data,
            std::vector<AuxiliaryValues>& auxiliaries);

  /// Calls the clause's function for each combination of index values, and passes its results to `body`.
  /// Stops when `body` returns false or the function fails.
  template <class Body>
  void Walk(Body body) {
    Walk([] { return true; }, body);
  }
  /// Does so only for those combinations for which `wanted` returns true.
  template <class Wanted, class Body>
  void Walk(Wanted wanted, Body body) {
    for (int64_t extent : extents_) {
      if (extent <= 0) return;
    }
    do {
      if (!wanted()) continue;
      const std::vector<uint64_t>* results = Call();
      if (!results || !body(*results)) return;
    } while (Advance());
  }

  /// Returns the elements that the clause's function reads for the current index values. Calls the function
  /// again to find them.
  std::vector<ElementRead> Reads();

  const ir::Clause& clause() const { return clause_; }
  const ContractData& data() const { return data_; }
  int64_t at(size_t name) const { return at_[name]; }
  int64_t extent(size_t name) const { return extents_[name]; }
  int64_t SizeAt(Name dim) const;
  /// Returns where and why the clause could not be evaluated, or nothing if there was no error.
  const std::optional<ContractFailure>& fault() const { return fault_; }
  /// Returns the description of a parameter of the clause's function, or nothing if the value is not a
  /// parameter.
  const ir::ContractParam* FindParam(const ir::Value* value) const;
  /// Returns the tensor's name as it is written in the source: `old(x)` for `x.old`.
  std::string TensorName(const ir::Value* tensor) const;

 private:
  void Bind(size_t number, const ir::ContractParam& param,
            std::vector<AuxiliaryValues>& auxiliaries);
  /// Binds a tensor to parameter `number`. Its elements are in `memory`, which is resized to fit. If `small`,
  /// a tensor that would have too many elements is left empty.
  void BindTable(size_t number, ir::Type type, std::vector<std::byte>& memory, bool small);
  const std::vector<uint64_t>* Call();
  bool Advance();
  void Fault(const Trap& trap);

  const ir::Clause& clause_;
  const ContractData& data_;
  Image image_;
  std::optional<Machine> machine_;
  std::vector<std::vector<std::byte>> kept_;
  std::vector<int64_t> extents_;
  std::vector<int64_t> at_;
  std::vector<size_t> places_;  ///< for each index name, the parameter's number
  int64_t most_steps_ = 0;
  std::optional<ContractFailure> fault_;
};

/// Returns the number of elements of a tensor with these dimensions.
int64_t TensorElementCount(const std::vector<Size>& dims,
                           const std::function<std::optional<int64_t>(Name)>& size);

}  // namespace kdl::interp
