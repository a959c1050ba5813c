#pragma once

#include <unordered_set>
#include <vector>

#include "targets/cpu/analysis/last_axis.h"
#include "targets/cpu/expand/expander.h"

namespace kdl::cpu {

/// The maxima of floats in the body of an elementwise loop that are computed with instructions that ignore NaN and the
/// signs of zeros. What could make a result wrong is recorded in a vector: whether an operand was NaN, and whether a
/// result was -0. If nothing was recorded, all results are exact; if not, the loop runs again without watching.
class WatchedMaxima {
 public:
  WatchedMaxima(Expander& e, const ir::Op* elementwise, const LastAxis& last);

  /// Whether the loop may run a second time, and has so many maxima that this is faster than computing each exactly.
  bool are_worthwhile() const { return !maxima_.empty(); }

  /// Starts to watch chunks of `lanes` lanes. Returns the vector in which nothing is recorded.
  ir::Value* Start(int64_t lanes);
  bool is_watching() const { return lanes_ > 0; }
  /// Returns whether nothing was recorded.
  ir::Value* Stop(ir::Value* record);

  bool Has(const ir::Op* op) const { return is_watching() && maxima_.contains(op); }
  /// Returns the larger operand.
  ir::Value* Larger(const ir::Op* op, ir::Value* a, ir::Value* b);
  /// Adds what was found in the current chunk to the record.
  ir::Value* Recorded(ir::Value* record);

 private:
  ir::Type RecordType() const;
  /// Returns vectors of `lanes_` lanes with the lanes of the value, or with the value in every lane.
  Values Parts(ir::Value* value);
  /// Records if the value is NaN.
  void Watch(ir::Value* value);

  Expander& e_;
  std::unordered_set<const ir::Op*> maxima_;
  kdl::Scalar scalar_ = kdl::Scalar::F32;  ///< the type of all maxima
  int64_t lanes_ = 0;                      ///< 0 if nothing is watched
  ir::Value* unpaired_ =
      nullptr;    ///< an operand that is yet to be compared with NaN, together with the next one
  Values found_;  ///< conditions of the current chunk
};

}  // namespace kdl::cpu
