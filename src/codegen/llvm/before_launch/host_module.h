#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/llvm/compile.h"

namespace kdl::codegen {

/// KIR for a device that runs it.
struct TextImage {
  std::string_view kind;
  std::string_view kir;  ///< empty: there is no such image
};

/// Makes the object NAME.host.o, which is the host's whatever the devices are: `kdl_images_RUNTIME_NAME` (and the weak
/// `kdl_module_images`) with an image for each of `devices`, and the functions that are asked before a launch: its check,
/// the bytes that its cores share, how many cores may have blocks. An image of the host's own architecture names the
/// entries of its kernels as symbols. Of variants that ask for the same features the earlier one is preferred.
///
/// Where there is KIR text, there is an image of its kind, too: the text is its payload, and its variants are the kernels
/// that have a name in it.
///
/// `names` are those of the kernels' modules.
std::string CompileHostModule(const Backend& host, std::string_view runtime_name, Names& names,
                              std::span<CompiledModule* const> devices, const TextImage& text);

}  // namespace kdl::codegen
