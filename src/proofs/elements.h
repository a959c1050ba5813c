#pragma once

#include <map>
#include <optional>
#include <vector>

#include "proofs/instances.h"

namespace kdl::proofs {

/// The elements of memories as points, and what accesses touch of them. An element has a variable for each dimension of the
/// memory, or of the one view through which all accesses go. Of a flat index K * i + j, with j from 0 to K - 1 wherever it
/// stands, i and j are two.
class Elements {
 public:
  explicit Elements(Instances& instances) : instances_(instances), wraps_(instances.kernel()) {}

  /// All elements of a tensor's memory; more where IsExact says no.
  PointSet Of(const ir::Value* tensor);
  bool IsExact(const ir::Value* tensor);
  /// The element that an access touches, at its points; more where not all of its index is known.
  struct Touched {
    PointSet elements;
    bool is_exact;
  };
  Touched TouchedBy(const AccessView& view);
  /// The same of an access whose index is inside, as where no check stops a core.
  Touched NamedBy(const AccessView& view);
  /// The index, in Coordinates, of an element; nothing where the point does not say it.
  std::optional<std::vector<int64_t>> IndexOf(const ir::Value* memory, const Point& point);

 private:
  /// Of y[v / N, v % N] with a size N: where the row begins, N * (v / N), is a variable of the element, too.
  struct Row {
    std::string start;
    AtomId size;
  };
  struct Layout {
    std::vector<std::vector<Poly>>
        factors;  ///< per dimension of the coordinates: K of K * i + j, outermost first
    std::vector<std::optional<Poly>> sizes;  ///< of the variables, where they are known
    std::map<size_t, Row> rows;              ///< by the variable of the quotient
  };
  Affine Variable(size_t number) const;
  const Layout& LayoutOf(const ir::Value* memory);
  std::vector<Poly> SplitIndex(const Poly& index, const std::vector<Poly>& factors);
  std::optional<Poly> FactorOf(const std::vector<Poly>& indices);
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
