#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kdl::tools {

/// A tensor that a program declares, as a parameter or with `let`.
struct DeclaredTensor {
  std::string name;
  std::vector<std::string> dims;  ///< the sizes as they are written
  std::vector<std::string> by;    ///< the entries of `by`; empty if there is none
  /// The bytes of the text `on grid by (M, _)`. If it is missing, both are where it belongs.
  size_t begin = 0;
  size_t end = 0;
  size_t group =
      0;  ///< the first tensor with which it is swapped, directly or not: both are distributed in the same way
};

/// The tensors that a program declares, and the device with ranks over which some of them are distributed.
struct DeclaredTensors {
  std::vector<DeclaredTensor> tensors;
  std::string device;
};

/// Another `by` for the tensors of some groups.
struct Redeclaration {
  std::vector<size_t> groups;
  std::vector<std::string> by;

  bool Changes(const DeclaredTensor& tensor) const;

  bool operator==(const Redeclaration&) const = default;
};

/// Returns the tensors of a program in this text, or nothing if none of them is distributed.
std::optional<DeclaredTensors> ReadDeclaredTensors(std::string_view text, std::string_view program);

/// Returns other ways to declare tensors: a tensor like another one of the program, along the dimensions whose sizes both have;
/// and all tensors with equal sizes that are distributed in the same way along another dimension, or without blocks. `axes` is
/// the number of axes of the grid of ranks. A tensor is never distributed along fewer of them than before, because ranks would
/// do the same work twice.
std::vector<Redeclaration> FindRedeclarations(const DeclaredTensors& declared, size_t axes);

/// Returns the text in which the tensors are declared in this way.
std::string Redeclared(std::string text, const DeclaredTensors& declared,
                       const Redeclaration& redeclaration);

/// Returns what is to be written after the type of a tensor: `on grid by (M, _)`.
std::string PlacementText(const DeclaredTensors& declared, const Redeclaration& redeclaration);

}  // namespace kdl::tools
