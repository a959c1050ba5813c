#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kdl::fuzz {

/// Returns the text with one to four changes, mostly of whole words and lines, so that many results are
/// nearly correct. Words are removed, doubled, swapped, or replaced by others of the text or of `other`;
/// lines are copied from there; numbers are changed; single bytes are flipped. The result depends only on the
/// arguments.
std::string Mutate(std::string_view text, std::string_view other, uint64_t seed);

}  // namespace kdl::fuzz
