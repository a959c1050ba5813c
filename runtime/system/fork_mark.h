// Detects whether this process is a forked child of the process that created an object. In such a child, the
// parent's threads do not exist, and its locks may be held forever.
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
  // A page that the system clears in a forked child, so that the check costs almost nothing. Null if the
  // system does not support that. In that case, no child is detected.
  volatile char* page_ = nullptr;
};

}  // namespace kdl::runtime
