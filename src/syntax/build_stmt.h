#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

BlockStmt* BuildBlock(Builder& builder, P::BlockContext* block);
std::vector<Attribute> BuildAttributes(Builder& builder,
                                       const std::vector<P::AttributeContext*>& attributes);

}  // namespace kdl::syntax
