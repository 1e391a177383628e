"use strict";
const text = (id) => document.getElementById(id).textContent;
const index = JSON.parse(text("index"));
const signatures = JSON.parse(text("signatures"));
const details = text("details").split("\n");
const list = document.getElementById("list");
const count = document.getElementById("count");
const more = document.getElementById("more");
const [search, status, mode] = ["search", "status", "mode"].map((id) => document.getElementById(id));

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

const unseen = (words) => make("span", "unseen", words);

function drawDiff(pieces) {
  const names = ["", "removed", "added", "moved from here", "moved to here"];
  return paragraph("text", ...pieces.map(([kind, words]) => {
    if (!kind) return words;
    return make(kind % 2 ? "del" : "ins", "", unseen(`[${names[kind]}: `), words, unseen("]"));
  }));
}

function drawSentence([complete, words, reason, findings, cells, counts], n) {
  const tag = complete ? "Complete" : "Incomplete";
  const item = make("li", "", paragraph("text", make("span", "dim", `${n + 1}. `),
    make("strong", `badge ${tag.toLowerCase()}`, tag), " ", words));
  if (reason) item.append(paragraph("reason", reason));
  for (const [kind, why] of findings) item.append(paragraph("reason", make("strong", "", kind), ": ", why));
  if (cells) {
    const [incomplete, invalid, all] = counts;
    const said = `${incomplete} of ${all} say incomplete` + (invalid ? `, ${invalid} not valid` : "");
    const strip = make("span", "strip",
      ...[...cells].map((c) => make("span", `cell ${{ n: "no", y: "yes", b: "bad" }[c]}`)));
    strip.setAttribute("role", "img");
    strip.setAttribute("aria-label", said);
    item.append(make("div", "votes", strip, make("span", "dim", said)));
  }
  return item;
}

function drawTable(heads, rows) {
  const head = make("tr", "", ...heads.map((name, at) => {
    const cell = make("th", at && typeof rows[0]?.[at] !== "string" ? "number" : "", name);
    cell.scope = "col";
    return cell;
  }));
  const body = rows.map((row) => make("tr", "", ...row.map((value, at) => {
    if (typeof value === "string") {
      const cell = make(at ? "td" : "th", "", value);
      cell.dir = "auto";
      if (!at) cell.scope = "row";
      return cell;
    }
    return value instanceof Element ? value : make("td", "number", value === null ? "-" : value.toFixed(3));
  })));
  const table = make("table", "", make("thead", "", head), make("tbody", "", ...body));
  const frame = make("div", "scroll", table);
  frame.tabIndex = 0;
  return frame;
}

function drawChange(before, after) {
  if (before === null || after === null) return make("td", "number", "-");
  const by = after - before;
  if (Math.abs(by) < 0.0005) return make("td", "number dim", "same");
  const word = by < 0 ? "better" : "worse";
  return make("td", `number ${word}`, `${by > 0 ? "+" : ""}${by.toFixed(3)} ${word}`);
}

function drawBody(at) {
  const found = JSON.parse(details[at]);
  const accepted = index[at][3] === "accepted";
  const body = make("div", "body");
  body.append(paragraph("", found.why));
  if (found.error) body.append(paragraph("reason", found.error));
  if (found.diff.length) {
    body.append(make("h3", "", accepted ? "What changed" : "What was tried and not accepted"), drawDiff(found.diff));
  }
  if (found.answer !== null) body.append(make("h3", "", "Answer to show"), paragraph("text", found.answer));
  for (const { round, said, sentences } of found.critiques) {
    const name = found.critiques.length > 1 ? `Critique of round ${round}` : "Critique";
    body.append(make("h3", "", name), make("p", "dim", said));
    if (sentences.length) body.append(make("ol", "sentences", ...sentences.map(drawSentence)));
  }
  if (found.scores.length) {
    const rows = found.scores.map(([name, error, scores]) =>
      [name, error, ...scores, drawChange(scores[0], scores.at(-1))]);
    body.append(make("h3", "", "Scores (errors from 0 to 1; lower is better)"),
      drawTable(["detector", "error", ...found.columns, "change"], rows));
    for (const note of found.notes) body.append(make("p", "dim", `Unscored: ${note}`));
  }
  if (found.arguments.length) {
    const rows = found.arguments.map(([name, group, words, before, after]) =>
      [name, group, words, before, after, drawChange(before, after)]);
    body.append(make("details", "", make("summary", "", "Coverage error of each given argument"),
      drawTable(["detector", "group", "given", "before", "after", "change"], rows)));
  }
  if (found.rounds.length) {
    body.append(make("h3", "", "Decision"), make("ol", "", ...found.rounds.map(([decision, why, rewritten]) =>
      make("li", "", make("span", `badge ${decision}`, rewritten ? `${decision}ed` : "nothing rewritten"), " ", why))));
  }
  body.append(make("p", "dim", `${found.backend}: ${found.cost}`), make("p", "dim", signatures[found.signature]));
  return body;
}

function drawLine([id, question, itsMode, itsStatus, seed], at) {
  const words = make("span", "question", question);
  words.dir = "auto";
  const summary = make("summary", "", words, make("strong", `badge ${itsStatus}`, itsStatus),
    make("span", "about", `${id}, ${itsMode}, seed ${seed}`));
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
  if (target.open && target.dataset.at !== undefined && target.children.length === 1) {
    target.append(drawBody(Number(target.dataset.at)));
  }
}, true);

// What can be searched, made when the first word is typed: the texts alone, without names and numbers.
let haystacks = null;
function haystack() {
  haystacks ??= details.map((line, at) => {
    const { why, diff, answer, critiques } = JSON.parse(line);
    const said = critiques.flatMap(({ sentences }) => sentences.flatMap(([, words, reason]) => [words, reason]));
    return [index[at][0], index[at][1], why, diff.map(([, words]) => words).join(""), answer ?? "", ...said]
      .join("\n").toLowerCase();
  });
  return haystacks;
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const texts = words.length ? haystack() : null;
  matches = [...index.keys()].filter((at) => {
    const [, , itsMode, itsStatus] = index[at];
    return (!status.value || status.value === itsStatus) && (!mode.value || mode.value === itsMode)
      && words.every((word) => texts[at].includes(word));
  });
  list.replaceChildren();
  shown = 0;
  showMore();
  const all = index.length.toLocaleString("en");
  const found = matches.length.toLocaleString("en");
  count.textContent = matches.length === index.length ? `${all} records` : `${found} of ${all} records`;
}

let waiting = 0;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(filter, 120);
});
for (const choice of [status, mode]) choice.addEventListener("change", filter);
document.querySelector("form.filters").addEventListener("submit", (event) => {
  event.preventDefault();
  filter();
});
filter();
performance.mark("eirene-ready");
