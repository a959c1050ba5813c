// Detects whether this process is a forked child of the one that created an object. In a child the parent's
// threads are missing, and its locks may be held forever.
#pragma once

namespace kdl::runtime {

class ForkMark {
 public:
  ForkMark();
  ~ForkMark();
  ForkMark(const ForkMark&) = delete;
  ForkMark& operator=(const ForkMark&) = delete;

  bool in_child() const { return page_ != nullptr && *page_ == 0; }

 private:
  // A page that fork clears, so that checking it costs nothing. Null if the system does not support that;
  // then no child is detected.
  volatile char* page_ = nullptr;
};

}  // namespace kdl::runtime
