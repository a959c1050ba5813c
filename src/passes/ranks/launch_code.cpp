#include "passes/ranks/launch_code.h"

#include <fmt/format.h>

#include <map>
#include <span>
#include <utility>

#include "ir/views.h"
#include "passes/fusion/producer.h"
#include "passes/ranks/rank_tensors.h"
#include "passes/rewriting/rewrite.h"
#include "passes/rewriting/structured.h"

namespace kdl::passes {

Size SizeInProgram(SizeTable& sizes, const Op* launch, const ir::Function& kernel, Size size) {
  std::map<Name, Size> known;
  std::span<Value* const> arguments = ir::LaunchOp(const_cast<Op*>(launch)).arguments();
  for (size_t p = 0; p < arguments.size(); ++p) {
    if (!IsTensor(arguments[p])) continue;
    const std::vector<Size>& dims = kernel.params[p].value->type()->dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (dims[d]->kind == SizeKind::Symbol)
        known.emplace(dims[d]->symbol, arguments[p]->type()->dims[d]);
  }
  bool complete = true;
  Size replaced = sizes.Substitute(size, [&](Name name) -> Size {
    auto found = known.find(name);
    complete = complete && found != known.end();
    return found == known.end() ? nullptr : found->second;
  });
  return complete ? replaced : nullptr;
}

LaunchCode::LaunchCode(ir::Module& module, const RankOps& ops, Op* launch)
    : ops_(ops), launch_(launch), b_(module, launch), ranks_(ops.Ranks(b_)) {}

LaunchCode::ForPartsOfRank LaunchCode::ForOwnedParts(const std::vector<LaunchAxis>& axes) {
  std::vector<Size> sizes;
  ir::RankDistribution dims;
  for (const LaunchAxis& axis : axes) {
    sizes.push_back(axis.size);
    dims.push_back({axis.axis, axis.block});
  }
  return [=, this](Value* rank, const PartBody& body) {
    ops_.ForEachOwned(b_, sizes, dims, rank, body);
  };
}

void LaunchCode::FetchNeeds(const ir::Function& kernel, const std::vector<RankNeed>& needs,
                            const ForPartsOfRank& for_parts) {
  if (needs.empty()) return;
  RequestNeeds(kernel, needs, for_parts);
  ops_.FinishFetches(b_);
}

void LaunchCode::RequestNeeds(const ir::Function& kernel, const std::vector<RankNeed>& needs,
                              const ForPartsOfRank& for_parts) {
  MakeLoop(b_, {b_.I64(0), ranks_.count}, [&](Value* rank) {
    for_parts(rank, [&](const std::vector<PartValues>& parts) {
      FetchNeedsOf(rank, kernel, needs, parts);
    });
  });
}

void LaunchCode::FetchForAll(const std::function<void(Value* rank)>& fetch) {
  MakeLoop(b_, {b_.I64(0), ranks_.count}, fetch);
  ops_.FinishFetches(b_);
}

void LaunchCode::FetchNeedsOf(Value* rank, const ir::Function& kernel,
                              const std::vector<RankNeed>& needs,
                              const std::vector<PartValues>& parts) {
  std::string cause = fmt::format("{} reads it", KernelOf(b_.module(), launch_));
  LaunchNumbers numbers = NumbersOf(kernel, parts);
  for (const RankNeed& need : needs) FetchParts(need, rank, numbers, cause);
}

void LaunchCode::FetchParts(const RankNeed& need, Value* rank, const LaunchNumbers& numbers,
                            const std::string& cause) {
  Value* tensor = need.argument.tensor;
  BoxValues whole = RankOps::WholeBox(b_, tensor);
  for (const proofs::NeededPart& part : need.parts) {
    NeededBox needed = MakeNeededBox(b_, part, whole, numbers);
    MakeIf(b_, needed.condition, [&] { ops_.Fetch(b_, tensor, rank, needed.box, cause); });
  }
}

/// Returns the values that the launch gives the kernel's sizes and parameters.
LaunchNumbers LaunchCode::NumbersOf(const ir::Function& kernel,
                                    const std::vector<PartValues>& parts) {
  LaunchNumbers numbers;
  std::span<Value* const> arguments = ir::LaunchOp(launch_).arguments();
  for (size_t p = 0; p < arguments.size(); ++p) {
    const Value* param = kernel.params[p].value;
    numbers.params[param] = arguments[p];
    if (!IsTensor(param)) continue;
    for (size_t d = 0; d < param->type()->dims.size(); ++d) {
      Size dim = param->type()->dims[d];
      bool is_new = dim->kind == SizeKind::Symbol && !numbers.sizes.contains(dim->symbol);
      if (is_new)
        numbers.sizes[dim->symbol] = RankOps::SizeValue(b_, arguments[p]->type()->dims[d]);
    }
  }
  size_t param = arguments.size();
  for (const PartValues& part : parts) {
    numbers.params[kernel.params[param++].value] = part.first;
    numbers.params[kernel.params[param++].value] = part.end;
  }
  return numbers;
}

std::vector<Value*> LaunchCode::InMemoryOf(const std::vector<RankArgument>& arguments,
                                           Value* rank) {
  std::span<Value* const> given = ir::LaunchOp(launch_).arguments();
  std::vector<Value*> operands(given.begin(), given.end());
  std::map<Value*, Value*> memories;
  for (const RankArgument& argument : arguments) {
    Value*& memory = memories[argument.tensor];
    if (!memory) memory = ops_.Memory(b_, argument.tensor, rank);
    operands[argument.param] = memory;
  }
  return operands;
}

void LaunchCode::CreateLaunch(const ir::Function& kernel, const std::vector<Value*>& operands,
                              bool constants) {
  std::vector<ir::Attr> attrs = {ir::MakeAttr<AttrKey::Callee>(kernel.name),
                                 ir::MakeAttr<AttrKey::Device>(launch_->attr<AttrKey::Device>()),
                                 ir::MakeAttr<AttrKey::Queue>(launch_->attr<AttrKey::Queue>())};
  if (constants && launch_->HasAttr(AttrKey::Constants))
    attrs.push_back(ir::MakeAttr<AttrKey::Constants>(launch_->attr<AttrKey::Constants>()));
  Value* cores = ir::LaunchOp(launch_).cores();
  b_.Create(OpKind::Launch, {OneOrNone(cores), {}, operands, {}}, {b_.types().Event()},
            std::move(attrs));
}

}  // namespace kdl::passes
