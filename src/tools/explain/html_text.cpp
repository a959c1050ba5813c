#include "tools/explain/html_text.h"

#include <fmt/format.h>

#include "tools/drawing/svg.h"

namespace kdl::tools {

std::string HtmlDocument(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{0}</title>\n"
      "<style>:root {{ color-scheme: light dark; background: var(--paper); color: var(--ink); }} "
      "body {{ font: 15px sans-serif; max-width: "
      "1000px; margin: 2em auto; padding: 0 8px; }} h1 {{ overflow-wrap: anywhere; }} "
      "small {{ opacity: 0.7; }} .picture, pre {{ overflow-x: auto; }} "
      "@media (min-width: 800px) {{ pre.words {{ white-space: pre-wrap; }} }} "
      "{3} {1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      title, style, body, PictureStyle());
}

}  // namespace kdl::tools
