#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "tools/drawing/escaped.h"
#include "tools/explain/assembly.h"
#include "tools/explain/html_text.h"

namespace kdl::tools {

namespace {

constexpr std::string_view kAssemblyStyle =
    ":root { color-scheme: light dark; } body { max-width: 1600px; padding: 0 8px; } "
    ".sides { display: flex; flex-wrap: wrap; gap: 16px; } "
    "pre { flex: 1 1 340px; min-width: 0; max-height: 85vh; overflow: auto; margin: 0; font-size: "
    "13px; } "
    "span { display: block; } span.code { cursor: pointer; } "
    ".marked { background: #f2a93b55; }";

/// Marks the lines and instructions that belong together, on both sides of a kernel. A click moves the other side there.
constexpr std::string_view kScript = R"(<script>
for (const sides of document.querySelectorAll(".sides")) {
  const spans = [...sides.querySelectorAll("[data-line]")];
  const partners = span => spans.filter(one => one.dataset.line === span.dataset.line);
  for (const span of spans) {
    span.onmouseenter = () => {
      for (const one of spans) one.classList.toggle("marked", one.dataset.line === span.dataset.line);
    };
    span.onclick = () => {
      const other = partners(span).find(one => one.parentNode !== span.parentNode);
      if (other) other.scrollIntoView({ block: "nearest" });
    };
  }
}
</script>
)";

/// Returns the source around the lines that the kernel's instructions come from.
std::string SourceHtml(const AssemblyReport& report, const KernelAssembly& kernel) {
  std::set<uint32_t> used;
  for (const AssemblyPart& part : kernel.parts)
    if (part.line > 0 && part.line <= report.lines.size()) used.insert(part.line);
  if (used.empty()) return {};
  std::string html;
  for (uint32_t line = *used.begin(); line <= *used.rbegin(); ++line) {
    std::string text = fmt::format("{:>4}  {}", line, Escaped(report.lines[line - 1]));
    html += used.contains(line)
                ? fmt::format("<span class=\"code\" data-line=\"{}\">{}</span>", line, text)
                : fmt::format("<span>{}</span>", text);
  }
  return html;
}

std::string InstructionsHtml(const KernelAssembly& kernel) {
  std::string html;
  for (const AssemblyPart& part : kernel.parts) {
    for (const std::string& one : part.instructions)
      html += fmt::format("<span class=\"code\" data-line=\"{}\">{}{}</span>", part.line,
                          one.ends_with(':') ? "" : "    ", Escaped(one));
  }
  return html;
}

}  // namespace

std::string HtmlPage(const AssemblyReport& report) {
  std::string body =
      "<p>Lines and instructions that belong together are marked under the pointer. A click moves "
      "the other side to them. Instructions of inlined library functions belong to the line that "
      "calls them.</p>\n";
  for (const KernelAssembly& kernel : report.kernels) {
    body += fmt::format(
        "<h2>{} <small>{}</small></h2>\n<div class=\"sides\"><pre>{}</pre><pre>{}</pre></div>\n",
        Escaped(kernel.kernel), Escaped(kernel.level), SourceHtml(report, kernel),
        InstructionsHtml(kernel));
  }
  body += kScript;
  return HtmlDocument(fmt::format("Instructions of {}", Escaped(report.file)), kAssemblyStyle,
                      body);
}

}  // namespace kdl::tools
