#include "tools/pages.h"

namespace kdl::tools {

std::string LanguagePage() {
  return
#include "language_page.inc"
      ;
}

}  // namespace kdl::tools
