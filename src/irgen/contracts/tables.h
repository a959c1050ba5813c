#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "irgen/contracts/scope.h"

// Tables of a clause's run: values kept for each choice of some names. A name is a free one, one of a reduction, or a range of a
// fn; where it has a value, gen.values holds that.
namespace kdl::irgen {

/// Tables of one expression, one for each part of its value.
struct Kept {
  IndexNames names;
  ir::Value* known = nullptr;  ///< which elements have been stored; null: who loads one knows
  std::vector<ir::Value*> tables;
};

/// Of a fn with ranges that is a part of a clause: its tiles are tables over all that the ranges walk.
struct FnTiles {
  std::unordered_map<const sema::Entity*, Size> extents;  ///< of its ranges
  std::unordered_map<const sema::Entity*, Kept> values;   ///< of its parameters, lets and vars
  /// What the present statement computes before the loops over its elements.
  std::unordered_map<const syntax::Expr*, Kept> ahead;
  Kept returned;
};

Size ExtentOf(const FunctionGen& gen, const sema::Entity* name);
/// How many values the names have together.
Size CountOf(const FunctionGen& gen, const IndexNames& names);

enum class Knows : uint8_t { No, Yes };
Kept AddTables(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               Knows knows, ir::ContractInput input = ir::ContractInput::Kept);
/// The element for the present values of the names.
sema::IndexInfo PlaceOf(const FunctionGen& gen, const Kept& kept);
std::vector<ir::Value*> LoadKept(FunctionGen& gen, const Kept& kept);
void StoreKept(FunctionGen& gen, const Kept& kept, const std::vector<ir::Value*>& values);

/// A loop over the values of the name, with what it carries; `body` gives that of the next turn. `is_sum`: of floats.
using GenIterationOf = std::function<std::vector<ir::Value*>(
    ir::Value* index, const std::vector<ir::Value*>& carried)>;
std::vector<ir::Value*> GenLoopOver(FunctionGen& gen, const sema::Entity* name, bool is_sum,
                                    const std::vector<ir::Value*>& carried,
                                    const GenIterationOf& body);
/// `body` for each choice of the names, the last one fastest.
void GenForAll(FunctionGen& gen, const IndexNames& names, const std::function<void()>& body);

/// What `make` gives, made once for each choice of the names; each time where that would be too much to keep.
std::vector<ir::Value*> GenOnce(FunctionGen& gen, const IndexNames& names,
                                const std::vector<Scalar>& types, const GenValues& make);
/// The same of what stores all elements at once that some of the names tell apart.
std::vector<ir::Value*> GenFilledOnce(FunctionGen& gen, const IndexNames& names,
                                      const std::vector<Scalar>& types,
                                      const std::function<void(const Kept&)>& fill);

/// Names that have a value while something is made.
class AroundScope {
 public:
  AroundScope(FunctionGen& gen, const IndexNames& names);
  ~AroundScope() { gen_.contract->around = std::move(before_); }
  AroundScope(const AroundScope&) = delete;
  AroundScope& operator=(const AroundScope&) = delete;

 private:
  FunctionGen& gen_;
  IndexNames before_;
};

/// In the order of their declaration.
IndexNames InOrder(IndexNames names);

}  // namespace kdl::irgen
