#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kdl::fuzz {

/// Returns the text with one to four changes. Most of them change whole words and lines, so that many results
/// are nearly correct. Words are removed, doubled, swapped, or replaced by other words of the text or of
/// `other`. Lines are copied from these texts, numbers are changed, and single bytes are flipped. The result
/// depends only on the arguments.
std::string Mutate(std::string_view text, std::string_view other, uint64_t seed);

}  // namespace kdl::fuzz
