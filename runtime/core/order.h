// Checks happens-before with vector clocks. Finds operations that access the same memory without anything
// that orders one after the other, in whatever order they actually ran. It is on in contexts with a device
// that asks for it; the scheduler calls all functions with its mutex held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/ref.h"
#include "kdl/kernel_abi.h"

namespace kdl::runtime {

class Buffer;
class Event;

// What has certainly completed: for each timeline, up to which value. Timeline 0 counts the host's actions.
using Clock = std::map<std::uint64_t, std::uint64_t>;

void Join(Clock* clock, const Clock& other);

// The part of a buffer that an operation accesses.
struct Access {
  Buffer* buffer;
  kdl_tensor view;
  bool writes;
};

// A point on a timeline, in numbers.
struct TimelinePoint {
  std::uint64_t timeline;
  std::uint64_t value;
};

// The accesses to a buffer that may conflict with later ones.
class AccessLog {
 public:
  // Returns a description of the first access that conflicts with this one and is not before `clock`, such as
  // "launch of 'f' writes it", or "".
  std::string FindConflict(const Access& access, const Clock& clock) const;
  // Records an access by `who`. `clock` is what was known when `who` started, at `point`.
  void Add(const Access& access, const Clock& clock, TimelinePoint point, const std::string& who);

 private:
  struct Record {
    kdl_tensor view;
    bool writes;
    TimelinePoint point;
    std::string who;
  };

  std::vector<Record> records_;
};

// The clock of an operation, known once it starts; shared with its event.
struct ClockCell {
  Clock clock;
};

// What is kept for an operation from when it is enqueued until it starts.
struct OrderNote {
  Clock host;  // what the host knew at that time
  bool is_host_call = false;
  std::vector<Ref<Event>> after;
  std::shared_ptr<ClockCell> cell = std::make_shared<ClockCell>();
};

// The host's own clock. All of its threads count as one, so the order between them is assumed to be right.
class HostOrder {
 public:
  const Clock& clock() const { return clock_; }
  // Records that the host has observed this point, and everything in its clock.
  void Learn(const Clock& clock, TimelinePoint point);
  // Records an access by the host in this log. Returns the conflict as FindConflict does.
  std::string Touch(const Access& access, AccessLog* log);

 private:
  Clock clock_;
};

}  // namespace kdl::runtime
