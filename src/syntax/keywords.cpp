#include "syntax/keywords.h"

#include <string>

#include "syntax/antlr.h"

namespace kdl::syntax {

std::vector<std::string_view> Keywords() {
  static const std::vector<std::string> words = [] {
    antlr4::ANTLRInputStream none;
    KdlLexer lexer(&none);
    std::vector<std::string> found;
    for (size_t type = KdlLexer::IMPORT; type < KdlLexer::IDENT; ++type) {
      std::string quoted = lexer.getVocabulary().getLiteralName(type);
      found.push_back(quoted.substr(1, quoted.size() - 2));
    }
    return found;
  }();
  return {words.begin(), words.end()};
}

}  // namespace kdl::syntax
