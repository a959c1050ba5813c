#include "tools/explain/html_text.h"

#include <fmt/format.h>

namespace kdl::tools {

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char ch : text) {
    switch (ch) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += ch;
    }
  }
  return escaped;
}

std::string HtmlDocument(std::string_view title, std::string_view style, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{0}</title>\n"
      "<style>body {{ font: 15px sans-serif; max-width: 1000px; margin: 2em auto; }} "
      "small {{ color: #666; }} {1}</style>\n</head>\n<body>\n<h1>{0}</h1>\n{2}</body>\n</html>\n",
      title, style, body);
}

}  // namespace kdl::tools
