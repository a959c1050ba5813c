#pragma once

#include <map>
#include <optional>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// Represents the elements of memories as points, and finds the elements that accesses touch. There is a
/// variable for each dimension of the memory or, if the memory is accessed through only one view, of that
/// view. A flat index K * i + j, where j is in 0 .. K - 1 in all accesses, becomes two variables, for i and
/// for j.
class Elements {
 public:
  explicit Elements(Instances& instances) : instances_(instances), wraps_(instances.kernel()) {}

  /// Returns all elements of a tensor's memory; a superset if IsExact is false.
  PointSet AllElements(const ir::Value* tensor);
  bool IsExact(const ir::Value* tensor);
  /// For each point of an access, the element that the access touches. If the index is not completely known,
  /// a superset of these elements.
  struct Touched {
    PointSet elements;
    bool is_exact;
  };
  Touched TouchedBy(const AccessView& view);
  /// Like `TouchedBy`, for an access whose index is known to be in bounds, for example because a failed check
  /// would have stopped the core.
  Touched NamedBy(const AccessView& view);
  /// Returns the index of an element in the memory's coordinates (see `Terms::Coordinates`); nothing if the
  /// point does not determine it.
  std::optional<std::vector<int64_t>> ElementIndex(const ir::Value* memory, const Point& point);

 private:
  /// The additional variable that represents an index y[v / N, v % N], where N is a size. It is the start of
  /// the row, N * (v / N).
  struct Row {
    std::string start;
    AtomId size;
  };
  struct Layout {
    /// For each dimension, the factors K of the flat indices K * i + j, outermost first.
    std::vector<std::vector<Poly>> factors;
    std::vector<std::optional<Poly>> sizes;  ///< the sizes of the variables, if known
    std::map<size_t, Row> rows;              ///< keyed by the number of the quotient's variable
  };
  Affine Variable(size_t number) const;
  const Layout& LayoutOf(const ir::Value* memory);
  std::vector<Poly> SplitIndex(const Poly& index, const std::vector<Poly>& factors);
  std::optional<Poly> CommonFactor(const std::vector<Poly>& indices);
  bool Fits(const AccessView& view, const Poly& rest, const Poly& factor);
  bool MayWrap(const AccessView& view, const ir::AccessDim& dim);
  PointSet Inside(const AccessView& view);
  Size ByEquation(Size size) const;
  void FindRows(const ir::Value* memory, const std::vector<AccessView>& views, Layout& layout);
  std::optional<Poly> DividedAt(const ir::Value* memory, const std::vector<Poly>& element,
                                size_t d);

  Instances& instances_;
  Wraps wraps_;
  std::map<const ir::Value*, Layout> layouts_;
};

}  // namespace kdl::proofs
