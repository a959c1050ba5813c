#pragma once

#include "support/result.h"
#include "targets/registry.h"

struct kdl_context;

namespace kdl::tools {

/// Adds the kinds of devices that the interpreter implements: `reference`, and the kinds of
/// `families` that are marked as interpreted.
Status AddInterpreters(kdl_context* context, const targets::Registry& families);

}  // namespace kdl::tools
