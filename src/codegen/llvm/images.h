#pragma once

#include <span>
#include <string>
#include <string_view>

#include "codegen/llvm/compile.h"

namespace kdl::codegen {

/// Makes the object NAME.host.o: `kdl_images_RUNTIME_NAME` (and the weak `kdl_module_images`) with a "host" image, whose entries are
/// the symbols of `kernels`, and a "reference" image, whose payload is `kir_text` and whose variants are the kernels that
/// have a name in it. Of variants that ask for the same features the earlier one is preferred. What the interpreter runs
/// for the first processor among the kernels asks for none: it runs everywhere.
std::string CompileImages(const Backend& backend, std::string_view runtime_name,
                          std::span<const KernelCode> kernels, std::string_view kir_text);

/// The number of an element kind in the ABI.
int64_t ElementCode(Scalar scalar);

/// The symbol that the object defines: `kdl_images_` and the name, with `_` for what C does not
/// allow.
std::string ImagesSymbol(std::string_view runtime_name);

}  // namespace kdl::codegen
