#pragma once

#include "targets/simt/tiles/workgroup_tiles.h"

// What has a map of its points to the workers.

namespace kdl::simt {

/// Expands a product with a map: each worker loads its factors of a term and does their outer product.
/// `target`: the buffer that the result gets. `in_vectors`: what is side by side is computed at once.
void ExpandProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op, ir::Value* target,
                   bool in_vectors);
/// Expands a fold with a map: each worker folds what it has in registers.
void ExpandMappedFold(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op, ir::Value* target);
/// One that names a matrix unit: workers take its steps together.
void ExpandMatrixProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op,
                         ir::Value* target);

}  // namespace kdl::simt
