#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kdl::fuzz {

/// The text with one to four changes, mostly of whole words and lines, so that many results are nearly right: words dropped,
/// doubled, swapped, replaced by others of the text or of `other`, lines taken over from there, numbers changed, single
/// bytes flipped. The seed decides everything.
std::string Mutate(std::string_view text, std::string_view other, uint64_t seed);

}  // namespace kdl::fuzz
