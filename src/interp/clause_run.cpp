#include "interp/clause_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "interp/elements.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

/// The maximum number of interpreter steps for computing one value. A limit is needed because a `while` loop
/// might not terminate.
constexpr int64_t kMostStepsOfWhile = int64_t{1} << 27;

int64_t KnownSize(Size size, const ContractData& data) {
  std::optional<int64_t> value = Evaluate(size, data.size);
  KDL_CHECK(value, "the size {} of a contract is not known", ToString(size));
  return *value;
}

int64_t MostSteps(const ir::Function& function) {
  bool may_not_end = false;
  ir::Walk(function.body,
           [&](const ir::Op* op) { may_not_end = may_not_end || op->kind() == ir::OpKind::While; });
  return may_not_end ? kMostStepsOfWhile : std::numeric_limits<int64_t>::max();
}

Image Prepared(const ir::Contract& contract, const ir::Clause& clause, const ContractData& data) {
  Result<Image> image = Prepare(*contract.module, *clause.function, data.size);
  KDL_CHECK(image.ok(), "{}", image.failure().message);
  return std::move(*image);
}

}  // namespace

int64_t TensorElementCount(const std::vector<Size>& dims,
                           const std::function<std::optional<int64_t>(Name)>& size) {
  int64_t count = 1;
  for (Size dim : dims) count *= std::max<int64_t>(Evaluate(dim, size).value_or(0), 0);
  return count;
}

ClauseRun::ClauseRun(const ir::Contract& contract, const ir::Clause& clause,
                     const ContractData& data, std::vector<AuxiliaryValues>& auxiliaries)
    : clause_(clause),
      data_(data),
      image_(Prepared(contract, clause, data)),
      machine_(std::in_place, image_, CoreFacts{}),
      at_(clause.free.size(), 0),
      places_(clause.free.size(), 0),
      most_steps_(MostSteps(*clause.function)) {
  const ir::Function& function = *clause.function;
  for (const ir::ContractIndex& index : clause.free)
    extents_.push_back(KnownSize(index.extent, data));
  for (size_t i = 0; i < function.dims.size(); ++i) {
    std::optional<int64_t> size = data.size(function.dims[i]);
    KDL_CHECK(size, "the size {} of a contract is not known", function.dims[i].text());
    machine_->BindScalar(i, static_cast<uint64_t>(*size));
  }
  kept_.reserve(clause.params.size());
  for (size_t i = 0; i < clause.params.size(); ++i)
    Bind(function.dims.size() + i, clause.params[i], auxiliaries);
}

void ClauseRun::Bind(size_t number, const ir::ContractParam& param,
                     std::vector<AuxiliaryValues>& auxiliaries) {
  ir::Type type = clause_.function->body->param(number)->type();
  switch (param.input) {
    case ir::ContractInput::Index:
      places_[param.number] = number;
      return;
    case ir::ContractInput::Auxiliary: {
      AuxiliaryValues& values = auxiliaries[param.number];
      return BindTable(number, type, param.bound ? values.bounds : values.values, false);
    }
    case ir::ContractInput::Kept:
    case ir::ContractInput::KeptSmall:
      kept_.emplace_back();
      return BindTable(number, type, kept_.back(), param.input == ir::ContractInput::KeptSmall);
    case ir::ContractInput::Argument:
    case ir::ContractInput::Old:
      break;
  }
  const TensorArgument& argument = data_.now[param.number];
  auto* memory = static_cast<std::byte*>(argument.data);
  if (param.input == ir::ContractInput::Old)
    memory = static_cast<std::byte*>(const_cast<void*>(data_.old[param.number]));
  if (type->kind != ir::TypeKind::Tensor)
    return machine_->BindScalar(number, ReadElement(memory, argument.scalar));
  machine_->BindTensor(number, {memory, argument.scalar, argument.sizes, argument.strides, {}});
}

void ClauseRun::BindTable(size_t number, ir::Type type, std::vector<std::byte>& memory,
                          bool small) {
  TensorValue tensor{nullptr, type->scalar, {}, {}, {}};
  int64_t count = TensorElementCount(type->dims, data_.size);
  bool empty = small && count > ir::kMostKept;
  for (Size dim : type->dims)
    tensor.sizes.push_back(empty ? 0 : std::max<int64_t>(KnownSize(dim, data_), 0));
  tensor.strides = RowMajorStrides(tensor.sizes);
  memory.resize(empty ? 0 : static_cast<size_t>(count * Bytes(type->scalar)));
  tensor.data = memory.data();
  machine_->BindTensor(number, std::move(tensor));
}

const std::vector<uint64_t>* ClauseRun::Call() {
  for (size_t i = 0; i < places_.size(); ++i)
    machine_->BindScalar(places_[i], static_cast<uint64_t>(at_[i]));
  machine_->Restart();
  MachineState state = machine_->RunSteps(most_steps_);
  KDL_CHECK(state != MachineState::Broken, "in '{}': {}", clause_.function->name.text(),
            machine_->fault());
  if (state == MachineState::Done) return &machine_->results();
  if (state == MachineState::Trapped) {
    Fault(machine_->trap());
  } else {
    const ir::Op* loop = machine_->RunningWhile();
    fault_ = ContractFailure{clause_.span,
                             fmt::format("this loop has not ended after {} steps", most_steps_),
                             true, loop ? loop->loc() : clause_.function->loc};
  }
  return nullptr;
}

bool ClauseRun::Advance() {
  for (size_t i = at_.size(); i-- > 0;) {
    if (++at_[i] < extents_[i]) return true;
    at_[i] = 0;
  }
  return false;
}

void ClauseRun::Fault(const Trap& trap) {
  ContractFailure fault{clause_.span, "", true, trap.op->loc()};
  if (trap.code == KDL_TRAP_DIVISION) {
    fault.text = "this divides by 0";
  } else if (trap.code == KDL_TRAP_ASSERT) {
    fault.text = "this assertion is false";
  } else if (trap.code == KDL_TRAP_INDEX) {
    fault.text = fmt::format("index {} of '{}' is {}, outside its size {}", trap.dimension,
                             TensorName(trap.op->operand(0)), trap.index, trap.bound);
  } else {
    fault.text = fmt::format("the step of a loop is {}", trap.index);
  }
  fault_ = std::move(fault);
}

std::vector<ElementRead> ClauseRun::Reads() {
  std::vector<ElementRead> reads;
  machine_->RecordReads(&reads);
  Call();
  machine_->RecordReads(nullptr);
  return reads;
}

int64_t ClauseRun::SizeAt(Name dim) const { return *data_.size(dim); }

const ir::ContractParam* ClauseRun::FindParam(const ir::Value* value) const {
  const std::vector<ir::Param>& params = clause_.function->params;
  auto found =
      std::ranges::find_if(params, [&](const ir::Param& param) { return param.value == value; });
  return found == params.end() ? nullptr
                               : &clause_.params[static_cast<size_t>(found - params.begin())];
}

std::string ClauseRun::TensorName(const ir::Value* tensor) const {
  constexpr std::string_view kOld = ".old";
  std::string name = tensor->name().str();
  const ir::ContractParam* param = FindParam(tensor);
  if (!param || param->input != ir::ContractInput::Old) return name;
  return fmt::format("old({})", name.substr(0, name.size() - kOld.size()));
}

}  // namespace kdl::interp
