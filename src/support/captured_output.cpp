#include "support/captured_output.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace kdl {

CapturedOutput::CapturedOutput() {
  std::fflush(stdout);
  file_ = memfd_create("kernelc", MFD_CLOEXEC);
  before_ = dup(STDOUT_FILENO);
  if (file_ >= 0 && before_ >= 0) dup2(file_, STDOUT_FILENO);
}

CapturedOutput::~CapturedOutput() {
  std::fflush(stdout);
  if (file_ >= 0 && before_ >= 0) dup2(before_, STDOUT_FILENO);
  for (int one : {file_, before_})
    if (one >= 0) close(one);
}

std::string CapturedOutput::Text() const {
  std::fflush(stdout);
  std::string text;
  char part[4096];
  for (ssize_t read = 0;
       file_ >= 0 && (read = pread(file_, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<size_t>(read));
  return text;
}

}  // namespace kdl
