#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::tools {

struct PlacedTensor {
  std::string name;
  std::string owner;  ///< "lives on two", "begins on one, which first writes it"
};

enum class StepKind : uint8_t { Launch, Move, Other, Region };

/// Something that a program submits to a queue, or the head of a loop or branch that contains such
/// steps.
struct PlacedStep {
  StepKind kind;
  size_t number = 0;  ///< from 1; a region has none
  std::string text;   ///< "layer", "h: one -> two: layer reads it", "loop"
  std::string place;  ///< "pipe.kdl:12:5"
  std::string device;
  int64_t queue = 0;
  std::string from;  ///< for a move, the device it comes from
  size_t depth = 0;
  std::vector<size_t> after;  ///< numbers of steps in other queues to wait for
};

struct PlacedProgram {
  std::string name;
  std::vector<PlacedTensor> tensors;
  std::vector<PlacedStep> steps;
};

struct PlacementReport {
  std::string file;
  std::vector<PlacedProgram> programs;
};

/// Returns the source position of an op, `m.kdl:3:9`, without folders, or an empty string if it has
/// none.
std::string SourcePlace(const ir::Op* op);

/// Maps a module on which order-launches has run.
PlacementReport MapPlacement(const ir::Module& module, const std::string& file);

std::string ReportText(const PlacementReport& report);

/// Returns a page with a picture for each program (one column per queue), followed by the text.
std::string HtmlPage(const PlacementReport& report);

}  // namespace kdl::tools
