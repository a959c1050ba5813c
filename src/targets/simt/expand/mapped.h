#pragma once

#include "targets/simt/tiles/workgroup_tiles.h"

// Functions that expand ops with a thread layout.

namespace kdl::simt {

/// Expands a product with a thread layout. For each term, that is, each index of the reduced axes, a thread
/// loads its factors and adds their outer product. `target` is the buffer for the result. If `in_vectors` is
/// true, contiguous elements are computed as vectors.
void ExpandProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op, ir::Value* target,
                   bool in_vectors);
/// Expands a reduction with a thread layout: each thread reduces the elements in its registers.
void ExpandMappedFold(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op, ir::Value* target);
/// Expands a product to matrix instructions, which threads execute together.
void ExpandMatrixProduct(ir::Builder& b, WorkgroupTiles& tiles, const ir::Op* op,
                         ir::Value* target);

}  // namespace kdl::simt
