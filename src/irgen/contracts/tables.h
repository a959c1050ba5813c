#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "irgen/contracts/scope.h"

// Tables that a clause fills while it runs. They keep values for each combination of some index names. An
// index name is a free name of the clause, an index of a reduction, or a range of a fn. Its current value,
// if any, is in gen.values.
namespace kdl::irgen {

/// The tables of one expression, one for each part of its value.
struct Kept {
  IndexNames names;
  ir::Value* known =
      nullptr;  ///< which elements have been stored; null if readers know this themselves
  std::vector<ir::Value*> tables;
};

/// The tiles of a fn with ranges that is inlined into a clause. Each tile is a table over all values of
/// its ranges.
struct FnTiles {
  std::unordered_map<const sema::Entity*, Size> extents;  ///< the extents of the fn's ranges
  std::unordered_map<const sema::Entity*, Kept> values;   ///< the fn's parameters, lets and vars
  /// The values that the current statement computes before the loops over its elements.
  std::unordered_map<const syntax::Expr*, Kept> ahead;
  Kept returned;
};

Size NameExtent(const FunctionGen& gen, const sema::Entity* name);
/// Returns the number of combinations of the names' values.
Size CombinationCount(const FunctionGen& gen, const IndexNames& names);

enum class Knows : uint8_t { No, Yes };
Kept AddTables(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               Knows knows, ir::ContractInput input = ir::ContractInput::Kept);
/// Returns the index of the table element for the current values of the names.
sema::IndexInfo KeptIndex(const FunctionGen& gen, const Kept& kept);
std::vector<ir::Value*> LoadKept(FunctionGen& gen, const Kept& kept);
void StoreKept(FunctionGen& gen, const Kept& kept, const std::vector<ir::Value*>& values);

/// Generates a loop over the values of the name. `body` returns the carried values for the next iteration.
/// `is_sum` says whether the loop computes a sum of floats.
using GenIterationOf = std::function<std::vector<ir::Value*>(
    ir::Value* index, const std::vector<ir::Value*>& carried)>;
std::vector<ir::Value*> GenLoopOver(FunctionGen& gen, const sema::Entity* name, bool is_sum,
                                    const std::vector<ir::Value*>& carried,
                                    const GenIterationOf& body);
/// Calls `body` to generate code that runs for each combination of the names' values. The last name
/// varies fastest.
void GenForAll(FunctionGen& gen, const IndexNames& names, const std::function<void()>& body);

/// Returns the values that `make` computes. They are computed once for each combination of the names'
/// values, or on every use if there are too many combinations for a table.
std::vector<ir::Value*> GenOnce(FunctionGen& gen, const IndexNames& names,
                                const std::vector<Scalar>& types, const GenValues& make);
/// Like GenOnce, but `fill` stores all elements along some of the names at once.
std::vector<ir::Value*> GenFilledOnce(FunctionGen& gen, const IndexNames& names,
                                      const std::vector<Scalar>& types,
                                      const std::function<void(const Kept&)>& fill);

/// Marks index names as having a value, during the lifetime of the object.
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

/// Returns the names in the order of their declaration.
IndexNames InOrder(IndexNames names);

}  // namespace kdl::irgen
