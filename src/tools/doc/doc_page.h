#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"
#include "syntax/ast.h"

namespace kdl::tools {

/// A section of a page, for the search.
struct DocSection {
  std::string anchor;
  std::string title;
  std::string text;  ///< without tags
};

/// The page about one file.
struct DocPage {
  std::string file;   ///< such as `std.nn.html`
  std::string title;  ///< such as `std.nn`
  std::string
      summary;  ///< the first sentence of the comment at the beginning of the file, or else the names of items
  std::string body;  ///< HTML
  std::vector<DocSection> sections;
};

/// Returns the page about the exported items of a file, or about all items if it exports none. For a file of the library, `prefix`
/// is its name with a dot, `std.nn.`, which is added to the names of items.
DocPage MakeDocPage(const SourceManager& sources, const syntax::Module& module, std::string file,
                    std::string title, std::string_view prefix);

}  // namespace kdl::tools
