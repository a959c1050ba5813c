#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/llvm/compile.h"

namespace kdl::codegen {

/// The text of KIR, the compiler's IR, for a device that interprets it.
struct TextImage {
  std::string_view kind;
  std::string_view kir;  ///< empty if no such image is needed
};

/// Compiles the object NAME.host.o, which the host needs for any set of devices. It contains
/// `kdl_images_RUNTIME_NAME` (and the weak symbol `kdl_module_images`) with an image for each of `devices`.
/// It also contains the functions that are called before a launch. They check the launch, and compute the
/// number of bytes that its cores share and the number of cores that may have blocks. An image for the host's
/// own architecture refers to the entry points of its kernels by symbol. If several variants need the same
/// features, the earliest of them is preferred.
///
/// If `text` contains KIR, an image of its kind is added: the KIR is the payload, and the variants are the
/// kernels that have a name in the KIR.
///
/// `names` must be the table of names of the kernels' modules.
std::string CompileHostModule(const Backend& host, std::string_view runtime_name, Names& names,
                              std::span<CompiledModule* const> devices, const TextImage& text);

}  // namespace kdl::codegen
