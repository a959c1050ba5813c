// Happens-before, checked with vector clocks: finds operations that touch the same memory with nothing
// that orders the one after the other, whichever way they happened to run. On in contexts with a device
// that asks for it; the scheduler calls everything here with its mutex held.
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

// What has certainly completed: by timeline, up to which value. Timeline 0 counts what the host does.
using Clock = std::map<std::uint64_t, std::uint64_t>;

void Join(Clock* clock, const Clock& other);

// Part of a buffer that an operation touches.
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

// What touched a buffer so far and may matter to what comes.
class AccessLog {
 public:
  // The first access that conflicts with this one and is not before `clock`, in words such as "launch of
  // 'f' writes it", or "".
  std::string FindConflict(const Access& access, const Clock& clock) const;
  // `clock` is what was known at `point`, when `who` began.
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

// The clock of an operation, known once it starts; its event shares it.
struct ClockCell {
  Clock clock;
};

// What an operation keeps from when it was queued until it starts.
struct OrderNote {
  Clock host;  // what the host knew
  bool is_host_call = false;
  std::vector<Ref<Event>> after;
  std::shared_ptr<ClockCell> cell = std::make_shared<ClockCell>();
};

// The host's own clock. All its threads count as one, so orders between them are taken for granted.
class HostOrder {
 public:
  const Clock& clock() const { return clock_; }
  // The host has seen this point, and with it all that its clock holds.
  void Learn(const Clock& clock, TimelinePoint point);
  // Records that the host touches memory with this log. Gives the conflict, as FindConflict.
  std::string Touch(const Access& access, AccessLog* log);

 private:
  Clock clock_;
};

}  // namespace kdl::runtime
