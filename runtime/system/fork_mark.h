// Whether this process is a child of the one that made something: its threads are not here then, and its locks
// may be held by them for ever.
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
  // A page that fork empties, which costs nothing to look at. Null where the system has none: then no child is
  // recognized.
  volatile char* page_ = nullptr;
};

}  // namespace kdl::runtime
