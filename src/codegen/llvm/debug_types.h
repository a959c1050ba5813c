#pragma once

#include <llvm/IR/DIBuilder.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/common/source_variables.h"

namespace kdl::codegen {

inline constexpr uint64_t kAddressBits = 64;

/// Creates the types of variables that debuggers show.
class DebugTypes {
 public:
  explicit DebugTypes(llvm::DIBuilder& builder) : builder_(builder) {}

  llvm::DIType* Element(Scalar scalar);
  /// A tile in memory as an array of arrays, named as in the source, such as `f32[i, j]`. The memory may be larger than
  /// the tile's blocks.
  llvm::DIType* Tile(const SourceVariable& variable, const std::vector<int64_t>& extents);
  /// The elements of a tile that are being computed.
  llvm::DIType* Lanes(const SourceVariable& variable, int64_t lanes);
  /// A tensor whose rows adjoin. `sizes` are the variables of its sizes or constants.
  llvm::DIType* Tensor(const SourceVariable& variable, const std::vector<llvm::Metadata*>& sizes);
  /// An element of a tuple. It is `at_bit` bits after the start of the tuple.
  struct Member {
    uint64_t at_bit = 0;
    uint64_t bits = 0;
    llvm::DIType* type = nullptr;
  };
  /// A tuple as a structure whose members are called `_0`, `_1` and so on, because debuggers do not accept `0` as a name.
  llvm::DIType* Tuple(const std::vector<Member>& members);
  /// A tile of a tuple, which is in memory of its own.
  llvm::DIType* Reference(llvm::DIType* tile);
  /// A block of a range: its start and its size.
  llvm::DIType* Range();

 private:
  llvm::DIType* Array(Scalar scalar, const std::vector<int64_t>& extents);

  llvm::DIBuilder& builder_;
  std::map<Scalar, llvm::DIType*> elements_;
  llvm::DIType* range_ = nullptr;
};

}  // namespace kdl::codegen
