#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/llvm/compile.h"

namespace kdl::codegen {

/// KIR for a device that interprets it.
struct TextImage {
  std::string_view kind;
  std::string_view kir;  ///< empty if there is no such image
};

/// Compiles the object NAME.host.o, which runs on the host whatever the devices are. It contains
/// `kdl_images_RUNTIME_NAME` (and the weak symbol `kdl_module_images`) with an image for each of `devices`.
/// It also contains the functions that are called before a launch: its check, the number of bytes that its
/// cores share, and the number of cores that may have blocks. An image for the host's own architecture
/// refers to its kernels' entries by symbol. Of several variants that need the same features, the earliest
/// is preferred.
///
/// If there is KIR text, an image of its kind is added: the text is the payload, and the variants are the
/// kernels that have a name in the text.
///
/// `names` must be the table of names of the kernels' modules.
std::string CompileHostModule(const Backend& host, std::string_view runtime_name, Names& names,
                              std::span<CompiledModule* const> devices, const TextImage& text);

}  // namespace kdl::codegen
