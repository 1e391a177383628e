const text = (id) => document.getElementById(id).textContent;
const index = JSON.parse(text("index"));
const signatures = JSON.parse(text("signatures"));
const details = text("details").split("\n");
const list = document.getElementById("list");
const count = document.getElementById("count");
const more = document.getElementById("more");
const form = document.querySelector("form.filters");
const [search, status, mode, seed] = ["search", "status", "mode", "seed"].map((id) => document.getElementById(id));

// An element with text or children. Texts are set as text, never as markup.
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null));
  return element;
}

function paragraph(className, ...children) {
  const element = make("p", className, ...children);
  element.dir = "auto";
  return element;
}

const ADVISORY = " (advisory)";
const unseen = (words) => make("span", "unseen", words);
const isNew = (what) => what === "added" || what === "moved to here";
const folded = (title, ...children) => make("details", "", make("summary", "", title), ...children);

function drawDiff(pieces) {
  return paragraph("text", ...pieces.flatMap(([what, words]) => {
    const shown = words.trimEnd();
    if (!what || !shown) return words;
    const marked = make(isNew(what) ? "ins" : "del", "", unseen(`[${what}: `), shown, unseen("]"));
    return [marked, words.slice(shown.length)];
  }));
}

function drawSentence([n, complete, words, reason, findings, cells, counted, scores, spans], isPartly) {
  const tag = complete ? "Complete" : "Incomplete";
  const item = make("li", "", paragraph("text", make("span", "dim", `${n}. `),
    make("strong", `badge ${complete && isPartly ? "plain" : tag.toLowerCase()}`, tag), " ", ...(spans.length ? drawSpans(spans) : [words])));
  if (reason) item.append(paragraph("reason", reason));
  for (const [kind, why] of findings) item.append(paragraph("reason", make("strong", "", kind), ": ", why));
  if (cells) {
    const strip = make("span", "strip", ...[...cells].map((vote) => make("span", `cell ${vote}`)));
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", counted);
    const beside = make("span", "dim", counted);
    beside.setAttribute("aria-hidden", "true");
    item.append(make("div", "votes", strip, beside));
  }
  if (scores) item.append(make("p", "dim", scores));
  return item;
}

function drawCritique([round, said, invalid, sentences, unchecked], isOnly) {
  return [
    make("h3", "", isOnly ? "Critique" : `Critique of round ${round}`),
    make("p", "dim", said),
    unchecked ? make("p", "dim", unchecked) : null,
    ...invalid.map((why) => paragraph("reason", `Not valid: ${why}`)),
    sentences.length ? make("ol", "sentences", ...sentences.map((one) => drawSentence(one, unchecked))) : null,
  ];
}

function roled(tag, role, className, ...children) {
  const element = make(tag, className, ...children);
  element.setAttribute("role", role);
  return element;
}

// The same as the macro `table`: text columns first, then numbers and changes.
function drawTable(caption, columns, firstNumber, rows, isMuted = () => false) {
  const kind = (at) => (at < firstNumber ? "" : "number");
  const head = columns.map((name, at) => {
    const cell = roled("th", "columnheader", kind(at), name);
    cell.scope = "col";
    return cell;
  });
  const body = rows.map((row, line) => roled("tr", "row", isMuted(line) ? "muted" : "", ...row.map((value, at) => {
    const shown = value === null ? "-" : typeof value === "number" ? value.toFixed(3) : value;
    const cell = at ? roled("td", "cell", kind(at), shown) : roled("th", "rowheader", "", shown);
    if (at) cell.dataset.label = columns[at];
    else cell.scope = "row";
    if (typeof value === "string") cell.dir = "auto";
    return cell;
  })));
  return make("div", "scroll", roled("table", "table", "", make("caption", "", caption),
    roled("thead", "rowgroup", "", roled("tr", "row", "", ...head)), roled("tbody", "rowgroup", "", ...body)));
}

function drawChange(before, after) {
  if (before === null || after === null) return "-";
  const by = after - before;
  if (Math.abs(by) < 0.0005) return make("span", "dim", "same");
  const word = by < 0 ? "better" : "worse";
  return make("span", word, `${by > 0 ? "+" : ""}${by.toFixed(3)} ${word}`);
}

function drawPolls([summary, replies]) {
  const drawn = replies.map(([said, words]) => make("li", "", make("b", "", said), words ? paragraph("text dim", words) : null));
  return folded(summary, make("ol", "", ...drawn));
}

const drawUndone = ([what, why]) => make("li", "", make("span", "badge reject", "undone"), " ", what, " ", make("span", "dim", why));

function drawRound([decision, why, candidate, taken, undone], at) {
  const done = candidate === null ? "nothing rewritten" : `${decision}ed`;
  return make("li", "", make("span", `badge ${candidate === null ? "plain" : decision}`, done), " ", why,
    taken ? paragraph("dim", taken) : null,
    undone.length ? make("ul", "undone", ...undone.map(drawUndone)) : null,
    candidate ? folded(`The rewrite of round ${at + 1}`, paragraph("text", candidate)) : null);
}

const short = (word) => (word.length <= 16 ? word : `${word.slice(0, 15)}…`);

function drawn(tag, attributes, words = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = words;
  return element;
}

// The same picture as `picture` in salience_page.py.
function drawMap([title, note, rows, columns, shares]) {
  const [step, label] = [14, 130];
  const [width, height] = [label + step * columns.length + label / 2, label + step * rows.length];
  const svg = drawn("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  columns.forEach((word, j) => {
    const x = label + step * j + step / 2;
    svg.append(drawn("text", { x, y: label - 6, transform: `rotate(-60 ${x} ${label - 6})` }, short(word)));
  });
  rows.forEach(([group, word], i) => {
    const y = label + step * i;
    svg.append(drawn("text", { x: label - 6, y: y + step - 4, "text-anchor": "end" }, short(word)));
    if (i && group !== rows[i - 1][0]) svg.append(drawn("line", { x1: 0, x2: width, y1: y, y2: y }));
  });
  for (const [i, j, share] of shares) {
    const side = (step - 1) * Math.sqrt(Math.min(1, share));
    const place = (n) => (label + step * n + (step - side) / 2).toFixed(1);
    svg.append(drawn("rect", { x: place(j), y: place(i), width: side.toFixed(1), height: side.toFixed(1) }));
  }
  const map = make("div", "map", svg);
  map.tabIndex = 0;
  map.setAttribute("role", "img");
  map.setAttribute("aria-label", `Map of ${rows.length} by ${columns.length} words`);
  const said = `Words of the given (rows) and of the answer (columns): the larger a square, the more of the answer's word came from there. ${note}`;
  return folded(title, make("p", "dim", said), map);
}

function drawBody(at) {
  const [about, diff, critiques, columns, scores, notes, polls, given, rounds, maps] = JSON.parse(details[at]);
  const [why, error, original, cost, signature] = about;
  const accepted = index[at][3] === "accepted";
  const parts = [paragraph("", why), error ? paragraph("reason", error) : null];
  if (diff.length) parts.push(make("h3", "", accepted ? "What changed" : "What was tried and not accepted"), drawDiff(diff));
  if (accepted) {
    const now = diff.filter(([what]) => !what || isNew(what)).map(([, words]) => words).join("");
    parts.push(folded("The answer to show, without marks", paragraph("text", now)));
  } else {
    parts.push(make("h3", "", "Answer to show"), paragraph("text", original));
  }
  for (const critique of critiques) parts.push(...drawCritique(critique, critiques.length === 1));
  if (scores.length || notes.length) parts.push(make("h3", "", "Scores"));
  if (scores.length) {
    const rows = scores.map(([name, kind, found, advisory]) =>
      [name + (advisory ? ADVISORY : ""), kind, ...found, drawChange(found[0], found.at(-1))]);
    parts.push(drawTable("Errors from 0 to 1; lower is better. Advisory scores are shown, and decide nothing.",
      ["detector", "error", ...columns, "change"], 2, rows, (line) => scores[line][3]));
  }
  parts.push(...notes.map((note) => make("p", "dim", note)), ...polls.map(drawPolls));
  if (given.length) {
    const rows = given.map(([name, group, words, before, after, advisory]) =>
      [words, group, name + (advisory ? ADVISORY : ""), before, after, drawChange(before, after)]);
    parts.push(folded("Coverage error of each given argument", drawTable("From 0 to 1; lower is better.",
      ["given", "group", "detector", "before", "after", "change"], 3, rows, (line) => given[line][5])));
  }
  parts.push(...maps.map(drawMap));
  if (rounds.length) parts.push(make("h3", "", "Rounds"), make("ol", "", ...rounds.map(drawRound)));
  return make("div", "body", ...parts, make("p", "dim", cost), make("p", "dim", signatures[signature]));
}

function drawLine([id, question, itsMode, itsStatus, itsSeed, isPlain], at) {
  const words = make("span", "question", question);
  words.dir = "auto";
  const summary = make("summary", "", words, make("strong", `badge ${isPlain ? "plain" : itsStatus}`, itsStatus),
    make("span", "about", `${id}, ${itsMode}, seed ${itsSeed}`));
  const record = make("details", "", summary);
  record.dataset.at = at;
  return make("li", "", record);
}

// Lines are made when they are first shown, a page at a time: thousands at once would take seconds to lay out.
const PAGE = 100;
const lines = new Array(index.length);
let matches = [];
let shown = 0;

function showMore() {
  const next = matches.slice(shown, shown + PAGE).map((at) => (lines[at] ??= drawLine(index[at], at)));
  list.append(...next);
  shown += next.length;
  const left = matches.length - shown;
  more.hidden = !left;
  more.textContent = `Show ${Math.min(left, PAGE)} more (${left.toLocaleString("en")} not shown yet)`;
  return next[0];
}
more.addEventListener("click", () => {
  showMore()?.querySelector("summary").focus({ preventScroll: true });
});

list.addEventListener("toggle", ({ target }) => {
  if (!target.open) return;
  if (target.dataset.at !== undefined && target.children.length === 1) target.append(drawBody(Number(target.dataset.at)));
  makeReachable(target);
}, true);

// What can be searched, made when the first word is typed: the texts alone, without names and numbers.
let haystacks = null;
function haystack() {
  haystacks ??= details.map((line, at) => {
    const [[why, , original], diff, critiques] = JSON.parse(line);
    const said = critiques.flatMap(([, , , sentences]) => sentences.flatMap(([, , words, reason]) => [words, reason]));
    return [index[at][0], index[at][1], why, diff.map(([, words]) => words).join(""), original, ...said]
      .join("\n").toLowerCase();
  });
  return haystacks;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = words.length ? haystack() : null;
  const fits = (choice, value) => !choice.value || choice.value === String(value);
  matches = [...index.keys()].filter((at) => {
    const [, , itsMode, itsStatus, itsSeed] = index[at];
    return fits(status, itsStatus) && fits(mode, itsMode) && fits(seed, itsSeed)
      && words.every((word) => texts[at].includes(word));
  });
  list.replaceChildren();
  shown = 0;
  showMore();
  const all = `${index.length.toLocaleString("en")} record${index.length === 1 ? "" : "s"}`;
  count.textContent = matches.length === index.length ? all : `${matches.length.toLocaleString("en")} of ${all}`;
}

let waiting = 0;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(filter, 120);
});
for (const choice of [status, mode, seed]) choice.addEventListener("change", filter);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  filter();
});
form.addEventListener("reset", () => setTimeout(filter));
filter();
performance.mark("eirene-ready");
