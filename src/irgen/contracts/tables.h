#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "irgen/contracts/scope.h"

// Tables that a clause fills while it is evaluated. They keep a value for each combination of some index
// names. An index name is a free name of the clause, an index of a reduction, or a range of a fn. If an index
// name currently has a value, it is in gen.values.
namespace kdl::irgen {

/// The tables for the value of one expression: one table for each element of a tuple, otherwise a single one.
struct Kept {
  IndexNames names;
  /// Tells which elements have been stored. Null if every element is stored before it is read.
  ir::Value* known = nullptr;
  std::vector<ir::Value*> tables;
};

/// The tiles of a fn that computes on ranges and is inlined into a clause. Each tile is a table of all
/// elements in its ranges.
struct FnTiles {
  std::unordered_map<const sema::Entity*, Size> extents;  ///< extents of the fn's ranges
  std::unordered_map<const sema::Entity*, Kept> values;   ///< the fn's parameters and variables
  /// The values that are computed before the current statement loops over its elements.
  std::unordered_map<const syntax::Expr*, Kept> ahead;
  Kept returned;
};

Size NameExtent(const FunctionGen& gen, const sema::Entity* name);
/// Returns the number of combinations of the values that the names can have.
Size CombinationCount(const FunctionGen& gen, const IndexNames& names);

enum class Knows : uint8_t { No, Yes };
Kept AddTables(FunctionGen& gen, const IndexNames& names, const std::vector<Scalar>& types,
               Knows knows, ir::ContractInput input = ir::ContractInput::Kept);
/// Returns the index into the table for the current values of the names.
sema::IndexInfo KeptIndex(const FunctionGen& gen, const Kept& kept);
std::vector<ir::Value*> LoadKept(FunctionGen& gen, const Kept& kept);
void StoreKept(FunctionGen& gen, const Kept& kept, const std::vector<ir::Value*>& values);

/// Generates a loop over all values of the name. `body` returns the carried values for the next iteration.
/// `is_sum` tells whether the loop computes a sum of floats.
using GenIterationOf = std::function<std::vector<ir::Value*>(
    ir::Value* index, const std::vector<ir::Value*>& carried)>;
std::vector<ir::Value*> GenLoopOver(FunctionGen& gen, const sema::Entity* name, bool is_sum,
                                    const std::vector<ir::Value*>& carried,
                                    const GenIterationOf& body);
/// Calls `body` to generate code that runs for each combination of values of the names. The last name varies
/// fastest.
void GenForAll(FunctionGen& gen, const IndexNames& names, const std::function<void()>& body);

/// Returns the values that `make` computes. They are computed once for each combination of values of the
/// names. If there are too many combinations for a table, they are computed on every use.
std::vector<ir::Value*> GenOnce(FunctionGen& gen, const IndexNames& names,
                                const std::vector<Scalar>& types, const GenValues& make);
/// Like GenOnce, but `fill` stores all elements along some of the names in one call.
std::vector<ir::Value*> GenFilledOnce(FunctionGen& gen, const IndexNames& names,
                                      const std::vector<Scalar>& types,
                                      const std::function<void(const Kept&)>& fill);

/// Marks index names as having a value while this object exists.
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

/// Returns the names in order of declaration.
IndexNames InOrder(IndexNames names);

}  // namespace kdl::irgen
