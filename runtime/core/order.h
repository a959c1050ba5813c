// Checks the happens-before relation with vector clocks. Finds operations that access the same memory
// although nothing orders them, regardless of the order in which they actually ran. The checks are on in
// contexts with a device that requests them. The scheduler calls all functions with its mutex held.
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

// What is known to have completed: for each timeline, the value that it has reached. Timeline 0 counts the
// actions of the host.
using Clock = std::map<std::uint64_t, std::uint64_t>;

void Join(Clock* clock, const Clock& other);

// An access of an operation to a part of a buffer.
struct Access {
  Buffer* buffer;
  kdl_tensor view;
  bool writes;
};

// A point on a timeline. Identifies the timeline by its number.
struct TimelinePoint {
  std::uint64_t timeline;
  std::uint64_t value;
};

// The recorded accesses to a buffer. Later accesses may conflict with them.
class AccessLog {
 public:
  // Returns a description of the first access that conflicts with `access` and does not happen before
  // `clock`, such as "launch of 'f' writes it". Returns "" if there is none.
  std::string FindConflict(const Access& access, const Clock& clock) const;
  // Records an access by the operation `who` at `point`. `clock` is what was known to have completed when the
  // operation started.
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

// The clock of an operation. It is computed when the operation starts, and is shared with the operation's
// event.
struct ClockCell {
  Clock clock;
};

// The data that is kept for an operation from when it is enqueued until it starts.
struct OrderNote {
  Clock host;  // what the host knew when the operation was enqueued
  bool is_host_call = false;
  std::vector<Ref<Event>> after;
  std::shared_ptr<ClockCell> cell = std::make_shared<ClockCell>();
};

// The clock of the host. All host threads count as one, so the ordering between them is assumed to be
// correct.
class HostOrder {
 public:
  const Clock& clock() const { return clock_; }
  // Records that the host has observed `point` and everything in `clock`.
  void Learn(const Clock& clock, TimelinePoint point);
  // Records an access by the host in `log`. Returns a description of a conflict, like FindConflict.
  std::string Touch(const Access& access, AccessLog* log);

 private:
  Clock clock_;
};

}  // namespace kdl::runtime
