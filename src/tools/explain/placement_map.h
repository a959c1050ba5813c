#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/module.h"

namespace kdl::tools {

struct PlacedTensor {
  std::string name;
  std::string tile_buffer;  ///< "lives on two", "begins on one, which first writes it"
};

enum class StepKind : uint8_t { Launch, Move, Other, Region };

/// What a program gives to a queue, or the head of a loop or branch around such.
struct PlacedStep {
  StepKind kind;
  size_t number = 0;  ///< from 1 on; a region has none
  std::string text;   ///< "layer", "h: one -> two: layer reads it", "loop"
  std::string place;  ///< "pipe.kdl:12:5"
  std::string device;
  int64_t queue = 0;
  std::string from;  ///< of a move: the other device
  size_t depth = 0;
  std::vector<size_t> after;  ///< numbers of steps of other queues
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

/// Where an op stands in the source, `m.kdl:3:9`, without the folders; "": it stands nowhere.
std::string PlaceOf(const ir::Op* op);

/// Of a module after order-launches.
PlacementReport MapPlacement(const ir::Module& module, const std::string& file);

std::string TextOf(const PlacementReport& report);

/// One page: for each program a picture, a column a queue, then the text.
std::string HtmlOf(const PlacementReport& report);

}  // namespace kdl::tools
