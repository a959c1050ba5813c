#include "interp/watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "interp/core.h"
#include "interp/tensor_memory.h"
#include "interp/tile.h"
#include "ir/tensor_view.h"
#include "ir/views.h"
#include "support/check.h"

namespace kdl::interp {

namespace {

using ir::AttrKey;
using ir::Op;
using ir::OpKind;

bool Changes(TouchKind kind) { return kind != TouchKind::Read; }

/// Returns whether two accesses by different agents are a race.
bool Race(TouchKind a, TouchKind b) {
  if (!Changes(a) && !Changes(b)) return false;
  if (a == TouchKind::Atomic && b == TouchKind::Atomic) return false;
  auto folds = [](TouchKind kind) { return kind == TouchKind::Fold || kind == TouchKind::Fill; };
  return !(folds(a) && folds(b) && (a == TouchKind::Fold || b == TouchKind::Fold));
}

/// Returns whether two accesses are an error even if the same agent makes both, because updates of groups
/// take effect only later.
bool RacesAlone(TouchKind a, TouchKind b) {
  return (a == TouchKind::Fold) != (b == TouchKind::Fold) && Race(a, b);
}

/// Returns a description of an access, such as "updates y[0] with `atomic`". The element may be left out.
std::string Does(TouchKind kind, const std::string& element = "") {
  std::string at = element.empty() ? "" : " " + element;
  switch (kind) {
    case TouchKind::Read:
      return "reads" + at;
    case TouchKind::Write:
    case TouchKind::Fill:
      return "writes" + at;
    case TouchKind::Atomic:
      return fmt::format("updates{} with `atomic`", at);
    case TouchKind::Fold:
      return fmt::format("reduces into{} with `reduce`", at);
  }
  KDL_UNREACHABLE("unknown kind of access {}", static_cast<int>(kind));
}

}  // namespace

struct Shadow {
  /// For each kind of access, the first two agents that made such an access in this phase. Two are enough,
  /// because any agent differs from at least one of them.
  struct Element {
    uint32_t phase = 0;
    bool written = false;
    bool read = false;
    uint64_t store = 0;  ///< the last execution of a store that wrote the element
    Watch::Mark marks[kTouchKinds][2];
  };

  const ir::Value* tensor;
  TensorValue memory;
  std::vector<Element> elements;

  /// Returns a name such as `y[3, 0]`.
  std::string ElementName(size_t offset) const {
    for (PointWalk walk(memory.sizes, {memory.strides}); !walk.done(); walk.Next()) {
      if (static_cast<size_t>(walk.offset(0)) != offset) continue;
      std::vector<int64_t> index;
      for (size_t d = 0; d < memory.sizes.size(); ++d) index.push_back(walk.position(d));
      return fmt::format("{}[{}]", tensor->name().text(), fmt::join(index, ", "));
    }
    KDL_UNREACHABLE("'{}' has no element at offset {}", tensor->name().text(), offset);
  }
};

Watch::Watch(const ir::Function& kernel, Sanitizers sanitizers)
    : kernel_(kernel), sanitizers_(sanitizers) {}
Watch::~Watch() = default;

size_t Watch::KeyHash::operator()(const std::vector<int64_t>& key) const {
  uint64_t hash = key.size();
  for (int64_t part : key) hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

Shadow* Watch::Add(const ir::Value* tensor, const TensorValue& memory, bool written) {
  Shadow& shadow = *shadows_.emplace_back(std::make_unique<Shadow>(Shadow{tensor, memory, {}}));
  shadow.elements.resize(SpannedElements(memory));
  for (Shadow::Element& element : shadow.elements) element.written = written;
  return &shadow;
}

std::vector<bool> Watch::ReadElements(const Shadow& shadow) {
  std::vector<bool> reads;
  for (const Shadow::Element& element : shadow.elements) reads.push_back(element.read);
  return reads;
}

void Watch::NextPhase() {
  ++phase_;
  agents_.clear();
  agent_of_.clear();
}

uint32_t Watch::SiteOf(const Op* op) {
  auto [known, is_new] = site_of_.try_emplace(op, static_cast<uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(op);
  return known->second;
}

AgentId Watch::AgentOf(Core& core) {
  const Instruction* stage = core.frames.front().owner;
  std::vector<int64_t> key = {static_cast<int64_t>(reinterpret_cast<intptr_t>(stage))};
  auto is_walk = [](const Frame& frame) {
    return std::holds_alternative<SpmdState>(frame.control);
  };
  auto found = std::find_if(core.frames.rbegin(), core.frames.rend(), is_walk);
  if (found == core.frames.rend()) {
    key.push_back(core.facts.core_id);
    return Intern(core, std::move(key), {nullptr, core.facts.core_id, 0, {}, {}});
  }
  auto& run = std::get<SpmdState>(found->control);
  if (run.agent != 0) return run.agent;
  const Instruction& walk = *found->owner;
  Agent agent{&walk, core.facts.core_id, run.iteration, {}, {}};
  const ir::Attr* domain = walk.op->FindAttr(AttrKey::Domain);
  // With dynamic scheduling, it is not known in advance which core executes a block, so the blocks of
  // different spmds are different agents.
  if (domain && walk.op->attr<AttrKey::Distribute>() != ir::DistributionKind::Dynamic) {
    std::string_view name = std::get<Name>(domain->value).text();
    key.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(name.data())));
    for (size_t i = 0; i < walk.operands.size(); ++i)
      key.push_back(static_cast<int64_t>(found->here->scalar(walk.operands[i])));
  } else {
    key.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(&walk)));
    key.push_back(run.iteration);
  }
  key.push_back(run.block);
  for (Slot param : found->block->params) {
    bool is_block = param.kind == SlotKind::Block;
    BlockFacts block = is_block
                           ? found->here->block(param)
                           : BlockFacts{static_cast<int64_t>(found->here->scalar(param)), 1, 0};
    agent.first.push_back(block.start);
    agent.last.push_back(block.start + block.size - 1);
  }
  run.agent = Intern(core, std::move(key), std::move(agent));
  return run.agent;
}

AgentId Watch::Intern(Core& core, std::vector<int64_t> key, Agent agent) {
  auto [known, is_new] =
      agent_of_.try_emplace(std::move(key), static_cast<AgentId>(agents_.size() + 1));
  if (is_new) {
    agents_.push_back(std::move(agent));
  } else if (agents_[known->second - 1].core != agent.core) {
    core.Break(*agent.walk,
               fmt::format("runs {} of one domain on core {} and on core {}",
                           AgentName(known->second), agents_[known->second - 1].core, agent.core));
  }
  return known->second;
}

std::string Watch::AgentName(AgentId agent) const {
  const Agent& one = agents_[agent - 1];
  if (!one.walk) return fmt::format("core {}", one.core);
  std::string text = "block ";
  for (size_t i = 0; i < one.first.size(); ++i) {
    std::string_view binder = one.walk->op->region()->param(i)->name().text();
    text += fmt::format("{}{} = {}", i == 0 ? "" : ", ", binder, one.first[i]);
    if (one.last[i] != one.first[i]) text += fmt::format("..{}", one.last[i]);
  }
  return text;
}

/// Returns the name of an agent for a message that has already mentioned `other`. The name says how the two
/// agents differ.
std::string Watch::NameNextTo(AgentId agent, AgentId other) const {
  const Agent& one = agents_[agent - 1];
  const Agent& first = agents_[other - 1];
  std::string text = AgentName(agent);
  if (!one.walk || !first.walk) return text;
  if (one.walk == first.walk && one.iteration != first.iteration)
    return text + " of another iteration";
  if (text != AgentName(other)) return text;
  return text + (one.walk == first.walk ? " with other bounds" : " of another loop");
}

bool Watch::Touch(Core& core, const Instruction& instruction, const TensorValue& tensor,
                  const std::byte* address, TouchKind kind) {
  Shadow& shadow = *tensor.shadow;
  size_t offset =
      static_cast<size_t>(address - shadow.memory.data) / static_cast<size_t>(Bytes(tensor.scalar));
  Shadow::Element& element = shadow.elements[offset];
  const Op* op = instruction.op;
  AgentId agent = AgentOf(core);
  if (core.state != MachineState::Running) return false;
  if (element.phase != phase_) {
    element.phase = phase_;
    for (auto& marks : element.marks) marks[0] = marks[1] = {};
  }
  for (size_t k = 0; sanitizers_.races && k < kTouchKinds; ++k) {
    auto before = static_cast<TouchKind>(k);
    for (const Mark& mark : element.marks[k]) {
      if (mark.agent == 0) continue;
      if (mark.agent == agent ? !RacesAlone(kind, before) : !Race(kind, before)) continue;
      StopRace(core, op, agent, kind, mark, before, shadow.ElementName(offset));
      return false;
    }
  }
  auto stop = [&](FindingKind finding, std::string text) {
    Trap trap{KDL_TRAP_SIZES, op, -1, 0, 0, std::move(text)};
    trap.finding = finding;
    core.Stop(trap);
    return false;
  };
  if (sanitizers_.races && kind == TouchKind::Write &&
      std::exchange(element.store, store_) == store_) {
    return stop(FindingKind::Twice, fmt::format("'{}': {} writes {} twice", QuotedText(*op),
                                                AgentName(agent), shadow.ElementName(offset)));
  }
  bool needs_value = kind == TouchKind::Read ||
                     (kind == TouchKind::Atomic && op->attr<AttrKey::How>() != ir::UpdateKind::Set);
  if (sanitizers_.init && needs_value && !element.written) {
    return stop(FindingKind::Unwritten,
                fmt::format("'{}': {} {}, which nothing has written", QuotedText(*op),
                            AgentName(agent), Does(kind, shadow.ElementName(offset))));
  }
  element.read = element.read || needs_value;
  element.written = element.written || Changes(kind);
  auto& marks = element.marks[static_cast<size_t>(kind)];
  if (marks[0].agent == 0) {
    marks[0] = {agent, SiteOf(op)};
  } else if (marks[0].agent != agent && marks[1].agent == 0) {
    marks[1] = {agent, SiteOf(op)};
  }
  return true;
}

/// Reports a race at the access that changes the element. If both accesses change it, reports the race at
/// the later one.
void Watch::StopRace(Core& core, const Op* op, AgentId agent, TouchKind kind, const Mark& mark,
                     TouchKind before, const std::string& element) const {
  const Op* other = sites_[mark.site];
  AgentId first = agent;
  AgentId second = mark.agent;
  if (!Changes(kind)) {
    std::swap(op, other);
    std::swap(first, second);
    std::swap(kind, before);
  }
  std::string text = fmt::format("'{}': ", QuotedText(*op));
  std::string neighbor = first == second ? "it" : NameNextTo(second, first);
  if (kind == before && first != second) {
    text += fmt::format("{} and {} both write {}", AgentName(first), neighbor, element);
  } else {
    text += fmt::format("{} {}, which {} {}", AgentName(first), Does(kind, element), neighbor,
                        Does(before));
  }
  Trap trap{KDL_TRAP_SIZES, op, -1, 0, 0, text + ", with no `sync` between"};
  trap.finding = FindingKind::Race;
  if (other != op) trap.other = other;
  core.Stop(trap);
}

std::optional<Trap> Watch::Unwritten() const {
  if (!sanitizers_.init) return std::nullopt;
  for (const ir::Param& param : kernel_.params) {
    if (param.direction != ir::Direction::Out) continue;
    auto is_of = [&](const auto& shadow) { return shadow->tensor == param.value; };
    auto shadow = std::find_if(shadows_.begin(), shadows_.end(), is_of);
    if (shadow == shadows_.end()) continue;
    const TensorValue& memory = (*shadow)->memory;
    for (PointWalk walk(memory.sizes, {memory.strides}); !walk.done(); walk.Next()) {
      auto offset = static_cast<size_t>(walk.offset(0));
      if ((*shadow)->elements[offset].written) continue;
      const Op* store = nullptr;
      ir::Walk(kernel_.body, [&](const Op* op) {
        bool writes = op->kind() == OpKind::Store || op->kind() == OpKind::Update;
        if (!store && writes && ir::MemoryOf(op->operand(ir::StoreOp::at_tensor)) == param.value)
          store = op;
      });
      Trap trap{KDL_TRAP_SIZES,
                store,
                -1,
                0,
                0,
                fmt::format("'{}' is `out`, but nothing has written {}", param.value->name().text(),
                            (*shadow)->ElementName(offset))};
      trap.place = store ? nullptr : &kernel_.loc;
      trap.finding = FindingKind::Incomplete;
      return trap;
    }
  }
  return std::nullopt;
}

}  // namespace kdl::interp
