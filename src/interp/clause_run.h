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

/// The elements of an auxiliary, row-major, as they lie in memory.
struct AuxiliaryValues {
  std::vector<std::byte> values;
  std::vector<std::byte> bounds;  ///< of an f64
};

/// The function of one clause made ready, and called for one choice of its free names after the other.
class ClauseRun {
 public:
  /// `auxiliaries`: of the contract's first equations. All outlive this.
  ClauseRun(const ir::Contract& contract, const ir::Clause& clause, const ContractData& data,
            std::vector<AuxiliaryValues>& auxiliaries);

  /// Calls `body` with what the function gives for each choice, until it gives false or there is a fault.
  template <class Body>
  void Walk(Body body) {
    for (int64_t extent : extents_) {
      if (extent <= 0) return;
    }
    do {
      const std::vector<uint64_t>* results = Call();
      if (!results || !body(*results)) return;
    } while (Advance());
  }

  /// At the present choice, again: what it reads.
  std::vector<ElementRead> Reads();

  const ir::Clause& clause() const { return clause_; }
  const ContractData& data() const { return data_; }
  int64_t at(size_t name) const { return at_[name]; }
  int64_t SizeAt(Name dim) const;
  /// The clause has no value: where, and why.
  const std::optional<ContractFailure>& fault() const { return fault_; }
  /// What a parameter of the function is; nothing where the value is none.
  const ir::ContractParam* ParamOf(const ir::Value* value) const;
  /// `old(x)` for `x.old`.
  std::string NameOf(const ir::Value* tensor) const;

 private:
  void Bind(size_t number, const ir::ContractParam& param,
            std::vector<AuxiliaryValues>& auxiliaries);
  /// `small`: one that is left empty where it would have too many elements.
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
  std::vector<size_t> places_;  ///< of the free names, among the machine's parameters
  int64_t most_steps_ = 0;
  std::optional<ContractFailure> fault_;
};

/// The number of elements of these sizes.
int64_t CountOf(const std::vector<Size>& dims,
                const std::function<std::optional<int64_t>(Name)>& size);

}  // namespace kdl::interp
