#include "irgen/contracts/calls.h"

#include "irgen/contracts/folds.h"
#include "irgen/contracts/parts.h"
#include "irgen/contracts/tiles.h"
#include "irgen/contracts/values.h"
#include "irgen/walk/generate.h"

namespace kdl::irgen {

using ir::Value;

std::vector<Value*> GenContractCall(FunctionGen& gen, const syntax::CallExpr& call,
                                    const sema::ExprInfo& info) {
  if (!info.callee->ranges.empty()) return GenContractTileCall(gen, call);
  std::vector<Value*> arguments;
  for (const syntax::Arg& arg : call.args) {
    std::vector<Value*> parts = GenParts(gen, arg.value);
    arguments.insert(arguments.end(), parts.begin(), parts.end());
  }
  std::vector<Size> sizes = info.call ? info.call->sizes : std::vector<Size>();
  return CastParts(gen, GenInlined(gen, *info.callee, arguments, sizes), MadeParts(gen, info.type));
}

std::vector<Value*> GenContractFold(FunctionGen& gen, const syntax::ReduceExpr& reduce) {
  return gen.tiles ? GenTileValue(gen, &reduce) : GenFoldOnce(gen, reduce);
}

}  // namespace kdl::irgen
