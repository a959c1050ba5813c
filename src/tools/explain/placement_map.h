#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::tools {

struct PlacedTensor {
  std::string name;
  std::string owner;  ///< such as "lives on two" or "begins on one, where it is used first"
};

enum class StepKind : uint8_t { Launch, Move, Other, Region };

/// A step of a program: something that it submits to a queue, or the head of a loop or branch that
/// contains steps.
struct PlacedStep {
  StepKind kind;
  size_t number = 0;  ///< numbered from 1; 0 for a loop or branch
  std::string text;   ///< such as "layer", "h: one -> two: layer reads it" or "loop"
  std::string place;  ///< such as "pipe.kdl:12:5"
  std::string device;
  int64_t queue = 0;
  std::string from;  ///< for a move, the device that the data comes from
  size_t depth = 0;
  std::vector<size_t> after;  ///< numbers of the steps in other queues that this step waits for
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

/// Returns the source position of an op without folders, such as `m.kdl:3:9`, or an empty string if
/// the op has no position.
std::string SourcePlace(const ir::Op* op);

/// Returns where the tensors and steps of a module are placed. The pass order-launches must already
/// have run on it.
PlacementReport MapPlacement(const ir::Module& module, const std::string& file);

std::string ReportText(const PlacementReport& report);

/// Returns an HTML page with a picture of each program, followed by the text of the report. A
/// picture has a column for each queue.
std::string HtmlPage(const PlacementReport& report);

}  // namespace kdl::tools
