#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/llvm/compile.h"

namespace kdl::codegen {

/// The kernels of a module, compiled for one processor.
struct ImagePart {
  const CompiledModule* compiled;
  const ir::TargetFacts* facts;  ///< all parts of an image are of one arch
};

/// Makes the object NAME.host.o: `kdl_images_NAME` (and the weak `kdl_module_images`) with a "host"
/// image, whose entries are the symbols of the parts' objects, and a "reference" image, whose
/// payload is `kir_text` and whose variants are those of the first part. A part that stands earlier
/// is preferred.
std::string CompileImages(const Backend& backend, std::string_view module_name,
                          std::span<const ImagePart> parts, std::string_view kir_text);

/// The symbol that the object defines: `kdl_images_` and the name, with `_` for what C does not
/// allow.
std::string ImagesSymbol(std::string_view module_name);

}  // namespace kdl::codegen
