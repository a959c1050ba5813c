#pragma once

#include <llvm/IR/Module.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/common/compiled.h"

namespace kdl::codegen {

/// The functions in the host's module for a kernel of a device. Each is null if the kernel does not need it.
struct HostFunctions {
  llvm::Function* check = nullptr;
  llvm::Function* busy_cores = nullptr;
  llvm::Function* shared_bytes = nullptr;
};

/// A kernel of an image.
struct ImageRow {
  const KernelCode* code = nullptr;
  HostFunctions functions;
  std::string symbol;  ///< name by which the device finds the kernel
  /// Whether the kernel is called by the address of its entry. Otherwise the device finds `symbol` in the
  /// payload.
  bool enters = false;
  bool compiled = false;  ///< the device runs this code; else the interpreter runs the kernel
  uint64_t features = 0;  ///< features that the kernel needs
};

/// The contents of a kdl_image.
struct Image {
  std::string_view kind;
  std::string_view arch;
  std::vector<ImageRow> rows;
  std::string_view payload;
};

/// Adds the tables of the images to an LLVM module.
void AddImages(llvm::Module& module, std::string_view runtime_name, std::span<const Image> images);

/// Returns the symbol of the images: `kdl_images_` and the name, with `_` for characters that C does not allow.
std::string ImagesSymbol(std::string_view runtime_name);

}  // namespace kdl::codegen
