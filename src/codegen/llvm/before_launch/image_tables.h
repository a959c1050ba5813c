#pragma once

#include <llvm/IR/Module.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// What the host's module has for a kernel of a device; null: it needs none.
struct HostFunctions {
  llvm::Function* check = nullptr;
  llvm::Function* busy_cores = nullptr;
  llvm::Function* shared_bytes = nullptr;
};

/// A kernel of an image.
struct ImageRow {
  const KernelCode* code = nullptr;
  HostFunctions functions;
  std::string symbol;   ///< the device finds it by that
  bool enters = false;  ///< by the address of its entry; else the device finds it in the payload
  bool compiled =
      false;  ///< the code is what the device runs, not what the interpreter does in its place
  uint64_t features = 0;  ///< that it asks for
};

/// A kdl_image.
struct Image {
  std::string_view kind;
  std::string_view arch;
  std::vector<ImageRow> rows;
  std::string_view payload;
};

/// Fills an LLVM module with the tables of the images.
void AddImages(llvm::Module& module, std::string_view runtime_name, std::span<const Image> images);

/// The symbol of the images: `kdl_images_` and the name, with `_` for what C does not
/// allow.
std::string ImagesSymbol(std::string_view runtime_name);

}  // namespace kdl::codegen
