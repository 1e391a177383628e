const text = (id) => document.getElementById(id).textContent;
const index = JSON.parse(text("index"));
const signatures = JSON.parse(text("signatures"));
const words = JSON.parse(text("words"));
const details = text("details").split("\n");
const [list, count, more, form, turn] = ["list", "count", "more", "filters", "turn"].map((id) => document.getElementById(id));
const [search, status, mode, seed, verdict, sort] = ["search", "status", "mode", "seed", "verdict", "sort"].map((id) => document.getElementById(id));
const heads = [...document.querySelectorAll("th[data-sort]")];

const ADVISORY = " (advisory)";
// The words at fault in a sentence: a line under them, the fault's letter, and the words that should stand there.
function drawSpans(spans) {
  return spans.flatMap(([said, word, edit]) => {
    if (!word) return [said];
    const [style, letter] = words[word] ?? words.incomplete;
    const mark = make("mark", `finding ${style}`, unseen(`[${word}: `), said, hidden(make("b", "letter", letter)), unseen("]"));
    return edit ? [mark, " ", make("ins", "", edit)] : [mark];
  });
}

function drawVotes(cells, counted) {
  const strip = roled("span", "img", "strip", ...[...cells].map((vote) => make("span", `cell ${vote}`)));
  strip.setAttribute("aria-label", counted);
  return make("div", "votes", strip, hidden(make("span", "dim", counted)));
}

function drawSentence([n, said, faults, gaps, votesForGap, cells, counted, scores, spans]) {
  const drawGap = (gap) => make("li", "gap", paragraph("", drawFault(gap[0]), " ", gap[1]),
    cells && votesForGap && gap === gaps[0] ? drawVotes(cells, counted) : null);
  const chips = faults.length ? faults.map(([word]) => word) : ["no fault found"];
  const item = make("li", "", paragraph("text", make("span", "dim", `${n}. `),
    ...chips.flatMap((word) => [drawFault(word), " "]), ...(spans.length ? drawSpans(spans) : [said])));
  for (const [word, reasons] of faults)
    for (const why of reasons) item.append(paragraph("reason", ...(faults.length > 1 ? [make("strong", "", word), ": "] : []), why));
  if (cells && !votesForGap) item.append(drawVotes(cells, counted));
  if (scores) item.append(make("p", "dim", scores));
  return [...gaps.filter((gap) => gap[2]).map(drawGap), item, ...gaps.filter((gap) => !gap[2]).map(drawGap)];
}

function drawCritique([round, said, invalid, sentences, unchecked], isOnly) {
  const of = isOnly ? "" : ` of round ${round}`;
  return folded(`Critique${of}, sentence by sentence, with its votes`,
    make("p", "dim", said),
    unchecked ? make("p", "dim", unchecked) : null,
    ...invalid.map((why) => paragraph("reason", `Not valid: ${why}`)),
    sentences.length ? make("ul", "sentences", ...sentences.flatMap(drawSentence)) : null);
}

// The same as the macro `table`: text columns first, then numbers and changes.
function drawTable(caption, columns, firstNumber, rows, isMuted = () => false) {
  const kind = (at) => (at < firstNumber ? "" : "number");
  const head = columns.map((name, at) => {
    const cell = roled("th", "columnheader", kind(at), name);
    cell.scope = "col";
    return cell;
  });
  const body = rows.map((row, line) => roled("tr", "row", isMuted(line) ? "advisory" : "", ...row.map((value, at) => {
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
  const word = by < 0 ? "better" : "higher";
  return make("span", by < 0 ? word : "dim", `${by > 0 ? "+" : ""}${by.toFixed(3)} ${word}`);
}

function drawPolls([summary, replies]) {
  const drawnReplies = replies.map(([said, why]) => make("li", "", make("b", "", said), why ? paragraph("text dim", why) : null));
  return folded(summary, make("ol", "", ...drawnReplies));
}

function drawRound([decision, why, candidate, taken], at) {
  const done = candidate === null ? "nothing rewritten" : `${decision}ed`;
  return make("li", "", make("strong", "", done), ": ", why, taken ? paragraph("dim", taken) : null,
    candidate ? folded(`The rewrite of round ${at + 1}`, paragraph("text", candidate)) : null);
}

const short = (word) => (word.length <= 16 ? word : `${word.slice(0, 15)}…`);

function drawn(tag, attributes, words = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = words;
  return element;
}

// The same picture as `picture` in salience.py.
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
  const [about, , diff, said, undone, open, critiques, columns, scores, notes, polls, given, rounds, maps, claims] = JSON.parse(details[at]);
  const [why, error, original, statusWords, cost, signature, conversation] = about;
  const accepted = index[at][3] === "accepted";
  const judged = critiques.some(([, , , sentences]) => sentences.length);
  const parts = [];
  const head = (title, ...children) => parts.push(make("h3", "", title), ...children);
  const points = (entries) => make("ul", "points", ...entries);
  if (conversation) parts.push(drawConversation(conversation));
  parts.push(paragraph("", statusWords), paragraph("dim", `Why: ${why}`));
  if (error) parts.push(paragraph("note failed", error));
  parts.push(...said.map((line) => paragraph("", line)));
  const now = diff.flatMap(([, pieces]) => pieces.filter(([piece]) => piece !== "gone").map(([, words]) => words)).join("");
  head("Answer", paragraph("text", accepted ? now : original));
  if (diff.length) head(accepted ? "What changed" : "What was tried and not accepted", ...drawDiff(diff));
  if (undone.length) head("What was undone, and why", points(undone.map(([round, [what, reason]]) =>
    make("li", "", rounds.length > 1 ? `Round ${round}: ` : "", what, paragraph("reason", reason)))));
  if (open.length) head("What is still missing or at fault", points(open.map(([word, words, reasons]) =>
    make("li", "", drawFault(word), " ", words, ...reasons.map((reason) => paragraph("reason", reason))))));
  else if (critiques.length) head("What is still missing or at fault", make("p", "", judged ? "Of what was looked for, nothing is left." : "Unknown: the answer was not judged."));
  if (claims) head("Claims with evidence", ...drawClaims(claims));
  parts.push(make("h3", "", "Details"), ...critiques.map((critique) => drawCritique(critique, critiques.length === 1)));
  if (scores.length || notes.length) {
    const rows = scores.map(([name, kind, found, advisory]) =>
      [name + (advisory ? ADVISORY : ""), kind, ...found, drawChange(found[0], found.at(-1))]);
    parts.push(folded("Scores", scores.length ? drawTable("Errors from 0 to 1; lower is better. Advisory scores are shown, and decide nothing.",
      ["Detector", "Error", ...columns.map((name) => name[0].toUpperCase() + name.slice(1)), "Change"], 2, rows, (line) => scores[line][3]) : null,
    ...notes.map((note) => make("p", "dim", note))));
  }
  parts.push(...polls.map(drawPolls));
  if (given.length) {
    const rows = given.map(([name, group, words, before, after, advisory]) =>
      [words, group, name + (advisory ? ADVISORY : ""), before, after, drawChange(before, after)]);
    parts.push(folded("What was given, argument by argument", drawTable("How far each is missing: coverage error from 0 to 1; lower is better.",
      ["Given", "Group", "Detector", "Before", "After", "Change"], 3, rows, (line) => given[line][5])));
  }
  parts.push(...maps.map(drawMap));
  if (rounds.length) parts.push(folded("Rounds", make("ol", "", ...rounds.map(drawRound))));
  parts.push(folded("Run and cost", paragraph("dim", cost), paragraph("dim", signatures[signature])));
  return parts;
}

// Rows are made when they are first shown, a page at a time: thousands at once would take seconds to lay out.
const PAGE = 100;
const lines = new Array(index.length);
const modes = new Set(index.map((line) => line[2])).size;
const seeds = new Set(index.map((line) => line[4])).size;
let matches = [];
let shown = 0;

function scoreCell(label, before, after) {
  const cell = roled("td", "cell", "number");
  cell.dataset.label = label;
  if (before === null || after === null) {
    cell.append(hidden(make("span", "dim", "–")), unseen("unscored"));
    return cell;
  }
  const change = after - before;
  const word = Math.abs(change) < 0.0005 ? "" : change < 0 ? "better" : "higher";
  cell.append(make("span", "", `${before.toFixed(2)} → ${after.toFixed(2)}`, word ? " " : "", make("span", word, word)));
  return cell;
}

function drawRow([id, question, itsMode, itsStatus, itsSeed, summary, beforeSaid, afterSaid, beforeCovered, afterCovered], at) {
  const pick = make("button", "pick", question || id);
  pick.type = "button";
  pick.dir = "auto";
  pick.dataset.at = at;
  pick.setAttribute("aria-expanded", "false");
  const name = roled("th", "rowheader", "", pick,
    make("span", "about", [id, modes > 1 ? itsMode : "", seeds > 1 ? `seed ${itsSeed}` : ""].filter(Boolean).join(", ")));
  name.scope = "row";
  const badge = roled("td", "cell", "", make("strong", `badge ${itsStatus}`, itsStatus.replaceAll("_", " ")));
  badge.dataset.label = "Status";
  const changed = roled("td", "cell", "", make("span", "", summary));
  changed.dataset.label = "What changed";
  return roled("tr", "row", "line", name, badge, changed, scoreCell("Hallucination error", beforeSaid, afterSaid),
    scoreCell("Coverage error", beforeCovered, afterCovered));
}

function showMore() {
  const next = matches.slice(shown, shown + PAGE).map((at) => (lines[at] ??= drawRow(index[at], at)));
  list.append(...next);
  shown += next.length;
  const left = matches.length - shown;
  more.hidden = !left;
  more.textContent = `Show ${Math.min(left, PAGE)} more (${left.toLocaleString("en")} not shown yet)`;
  return next[0];
}
more.addEventListener("click", () => {
  showMore()?.querySelector("button").focus({ preventScroll: true });
});

list.addEventListener("click", ({ target }) => {
  const pick = target.closest("button.pick");
  if (!pick) return;
  const row = pick.closest("tr");
  const isOpen = pick.getAttribute("aria-expanded") === "true";
  pick.setAttribute("aria-expanded", String(!isOpen));
  row.classList.toggle("open", !isOpen);
  if (isOpen) {
    row.nextElementSibling.remove();
    return;
  }
  const cell = roled("td", "cell", "", ...drawBody(Number(pick.dataset.at)));
  cell.colSpan = 5;
  row.after(roled("tr", "row", "body", cell));
  makeReachable(cell);
});
list.addEventListener("toggle", ({ target }) => makeReachable(target), true);

// What can be searched, made when the first word is typed: the texts alone, without names and numbers.
let haystacks = null;
function haystack() {
  haystacks ??= details.map((line, at) => {
    const [[why, error, original], summary, diff, , , , critiques] = JSON.parse(line);
    const said = critiques.flatMap(([, , , sentences]) => sentences.flatMap(([, words, faults, gaps]) =>
      [words, ...faults.flatMap(([word, reasons]) => [word, ...reasons]), ...gaps.flatMap(([label, missing]) => [label, missing])]));
    return [index[at][0], index[at][1], why, error, summary, diff.flatMap(([, pieces]) => pieces.map(([, words]) => words)).join(""), original, ...said]
      .join("\n").toLowerCase();
  });
  return haystacks;
}

const change = (before, after) => (before === null || after === null ? null : after - before);
const STATUSES = ["failed", "flagged", "kept", "abstained", "not_checked", "accepted", "no_fault_found", "complete"];
const KEYS = {
  file: (line, at) => at, question: (line) => line[1].toLowerCase(), status: (line) => STATUSES.indexOf(line[3]),
  changed: (line) => line[5], hallucination: (line) => line[7], coverage: (line) => line[9],
  "hallucination-change": (line) => change(line[6], line[7]), "coverage-change": (line) => change(line[8], line[9]),
};
const order = { by: "file", down: false };

// Rows without a value come last, whichever way round; equals stay in the order of the file.
function sorted(places) {
  const found = places.map((at) => [KEYS[order.by](index[at], at), at]);
  const turned = order.down ? -1 : 1;
  return found.sort(([a, i], [b, j]) => {
    if (a === b) return i - j;
    if (a === null || b === null) return a === null ? 1 : -1;
    return (a < b ? -1 : 1) * turned;
  }).map(([, at]) => at);
}

function sortBy(by, down) {
  Object.assign(order, { by, down });
  sort.value = by;
  for (const head of heads) {
    if (head.dataset.sort === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  filter();
}
const isNumber = (by) => by.startsWith("hallucination") || by.startsWith("coverage");
for (const head of heads) head.querySelector("button").addEventListener("click", () => {
  const by = head.dataset.sort;
  sortBy(by, order.by === by ? !order.down : isNumber(by));
});
sort.addEventListener("change", () => sortBy(sort.value, sort.value === "hallucination" || sort.value === "coverage"));
turn.addEventListener("click", () => sortBy(order.by, !order.down));

function filter() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = wanted.length ? haystack() : null;
  const fits = (choice, value) => !choice.value || choice.value === String(value);
  matches = sorted([...index.keys()].filter((at) => {
    const [, , itsMode, itsStatus, itsSeed] = index[at];
    const verdicts = index[at].at(-1);
    return fits(status, itsStatus) && fits(mode, itsMode) && fits(seed, itsSeed)
      && (!verdict.value || verdicts.includes(verdict.value))
      && wanted.every((word) => texts[at].includes(word));
  }));
  list.replaceChildren();
  for (const row of lines) {
    if (!row?.classList.contains("open")) continue;
    row.classList.remove("open");
    row.querySelector(".pick").setAttribute("aria-expanded", "false");
  }
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
for (const choice of [status, mode, seed, verdict]) choice.addEventListener("change", filter);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  filter();
});
form.addEventListener("reset", () => setTimeout(() => sortBy("file", false)));
document.getElementById("live").hidden = false;
sortBy("file", false);
performance.mark("eirene-ready");
