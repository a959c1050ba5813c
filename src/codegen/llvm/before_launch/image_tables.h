#pragma once

#include <llvm/IR/Module.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// The functions that the host calls before it launches a device's kernel. Each is null if the kernel does
/// not need it.
struct HostFunctions {
  llvm::Function* check = nullptr;
  llvm::Function* busy_cores = nullptr;
  llvm::Function* shared_bytes = nullptr;
};

/// One variant of a kernel in an image.
struct ImageRow {
  const KernelCode* code = nullptr;
  HostFunctions functions;
  std::string symbol;  ///< name by which the device finds the kernel
  /// Whether the kernel is called through the address of its entry point. Otherwise the device finds `symbol`
  /// in the payload.
  bool enters = false;
  bool compiled = false;  ///< whether the device runs this code, rather than an interpreter
  uint64_t features = 0;  ///< processor features that the kernel needs
};

/// The contents of a kdl_image.
struct Image {
  std::string_view kind;
  std::string_view arch;
  std::vector<ImageRow> rows;
  std::string_view payload;
  bool packs_payload = false;  ///< whether the image contains it as a packed text
};

/// Adds tables that describe the images to an LLVM module.
void AddImages(llvm::Module& module, std::string_view runtime_name, std::span<const Image> images);

/// Returns the symbol of the images: `kdl_images_` and the name. `_` replaces characters that C does not
/// allow.
std::string ImagesSymbol(std::string_view runtime_name);

}  // namespace kdl::codegen
