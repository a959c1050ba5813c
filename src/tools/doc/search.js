// Searches the sections of the site, which index.js lists as [page, anchor, title, text]. Works without a server.
const field = document.querySelector("input[type=search]");
const found = document.getElementById("found");

function escaped(text) {
  return text.replace(/[&<>]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
}

// All words must occur in a section. A word in its title counts more than words in its text.
function score(words, [, , title, text]) {
  let sum = 0;
  for (const word of words) {
    const inTitle = title.toLowerCase().includes(word);
    const inText = text.toLowerCase().includes(word);
    if (!inTitle && !inText) return 0;
    sum += (title.toLowerCase() === word ? 20 : inTitle ? 5 : 0) + (inText ? 1 : 0);
  }
  return sum;
}

function excerpt(text, word) {
  const at = text.toLowerCase().indexOf(word);
  const begin = Math.max(0, at - 40);
  const part = text.slice(begin, begin + 120);
  const hit = part.toLowerCase().indexOf(word);
  if (hit < 0) return escaped(part);
  return escaped(part.slice(0, hit)) + "<mark>" + escaped(part.slice(hit, hit + word.length)) + "</mark>" +
    escaped(part.slice(hit + word.length));
}

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(word => word.length > 1);
  const hits = words.length === 0 ? [] : SECTIONS.map(one => [score(words, one), one]).filter(([sum]) => sum > 0);
  hits.sort((a, b) => b[0] - a[0]);
  found.innerHTML = hits.slice(0, 12).map(([, [page, anchor, title, text]]) =>
    `<a href="${page}#${anchor}">${escaped(title)}<small>${excerpt(text, words[0])}</small></a>`).join("");
  if (words.length > 0 && hits.length === 0) found.textContent = "nothing found";
}

field.addEventListener("input", search);
