#pragma once

#include "syntax/builder.h"

namespace kdl::syntax {

/// Builds an item. `doc` is the text of the item's doc comment.
const Item* BuildItem(Builder& builder, P::ItemContext* item, std::string doc);

}  // namespace kdl::syntax
