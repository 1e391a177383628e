const at = (id) => document.getElementById(id);
const index = JSON.parse(at("index").textContent);
const details = at("details").textContent.split("\n");
const { modes, seeds, words } = JSON.parse(at("names").textContent);
const [search, measure, sort, head, body, more, count] = ["search", "measure", "sort", "head", "body", "more", "count"].map(at);

function spoken(tag, className, ...children) {
  const element = make(tag, className, ...children);
  element.dir = "auto";
  return element;
}

// What the table shows and sorts by, of the item at a place; null where there is no figure.
const pairOf = (cell) => cell?.[1][Number(measure.value)] ?? [null, null];
const after = (place, mode) => pairOf(index[place][3][mode])[1];
const before = (place) => index[place][3].map((cell) => pairOf(cell)[0]).find((value) => value !== null) ?? null;
function spread(place) {
  const found = modes.map((_, mode) => after(place, mode)).filter((value) => value !== null);
  return found.length > 1 ? Math.max(...found) - Math.min(...found) : null;
}

const SORTS = {
  place: [(place) => place, false],
  question: [(place) => index[place][1], false],
  before: [before, true],
  spread: [spread, true],
  ...Object.fromEntries(modes.map((_, mode) => [`mode-${mode}`, [(place) => after(place, mode), true]])),
};
const COLUMNS = [["question", "Item"], ["before", "Before"], ...modes.map((name, mode) => [`mode-${mode}`, name]), ["spread", "Difference"]];
let key = "spread";
let falling = true;
let order = [];
let shown = 0;
let chosen = null;
const PAGE = 100;

const said = (value) => (value === null ? "-" : value.toFixed(3));

function badge(status) {
  return make("strong", `badge ${status}`, status.replaceAll("_", " "));
}

function drawHead() {
  head.replaceChildren(...COLUMNS.map(([name, title], column) => {
    const button = make("button", "", title);
    button.type = "button";
    button.addEventListener("click", () => sortBy(name));
    const cell = roled("th", "columnheader", column ? "number" : "", button);
    cell.scope = "col";
    if (name === key) cell.setAttribute("aria-sort", falling ? "descending" : "ascending");
    return cell;
  }));
}

function drawRow(place) {
  const [id, question, seed, cells] = index[place];
  const pick = spoken("button", "pick", question || id);
  pick.type = "button";
  pick.addEventListener("click", () => choose(place, true));
  const line = roled("th", "rowheader", "", pick, make("span", "dim", seeds > 1 ? `${id}, seed ${seed}` : id));
  line.scope = "row";
  const values = [before(place), ...modes.map((_, mode) => after(place, mode)), spread(place)];
  const row = roled("tr", "row", "", line, ...values.map((value, n) => {
    const cell = n > 0 && n <= modes.length ? cells[n - 1] : undefined;
    const found = roled("td", "cell", "number", make("span", "", cell ? badge(cell[0]) : null, cell === null ? "not run" : said(value)));
    found.dataset.label = COLUMNS[n + 1][1];
    return found;
  }));
  row.dataset.place = place;
  return row;
}

function showMore() {
  const next = order.slice(shown, shown + PAGE).map(drawRow);
  body.append(...next);
  shown += next.length;
  const left = order.length - shown;
  more.hidden = !left;
  more.textContent = `Show ${Math.min(left, PAGE)} more (${left.toLocaleString("en")} not shown yet)`;
  mark();
  return next[0];
}

function mark() {
  for (const row of body.children) {
    const is = Number(row.dataset.place) === chosen;
    row.classList.toggle("chosen", is);
    if (is) row.querySelector(".pick").setAttribute("aria-current", "true");
    else row.querySelector(".pick").removeAttribute("aria-current");
  }
}

// Without a figure last, either way round; ties in the order of the file.
function compared(a, b) {
  const [value] = SORTS[key];
  const [x, y] = [value(a), value(b)];
  if (x === null || y === null) return (x === null) - (y === null) || a - b;
  const by = typeof x === "string" ? x.localeCompare(y) : x - y;
  return (falling ? -by : by) || a - b;
}

function draw() {
  const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  order = [...index.keys()].filter((place) => {
    const text = `${index[place][0]} ${index[place][1]}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  }).sort(compared);
  drawHead();
  body.replaceChildren();
  shown = 0;
  showMore();
  const all = `${index.length.toLocaleString("en")} ${seeds > 1 ? "pairs of item and seed" : index.length === 1 ? "item" : "items"}`;
  count.textContent = order.length === index.length ? all : `${order.length.toLocaleString("en")} of ${all}`;
  tellWhere();
}

function sortBy(name) {
  falling = name === key ? !falling : SORTS[name][1];
  key = name;
  sort.value = name;
  draw();
  head.querySelector("[aria-sort] button")?.focus({ preventScroll: true });
}

// The errors that decide, one a line; the advisory ones can be chosen for the table.
function drawErrors(pairs) {
  return [...measure.options].flatMap((option, n) => {
    const [was, is] = pairs[n];
    if (option.dataset.advisory || (was === null && is === null)) return [];
    const by = was === null || is === null ? null : is - was;
    const word = by === null ? "" : Math.abs(by) < 0.0005 ? "same" : by < 0 ? "better" : "worse";
    return [make("p", "change", make("span", "dim", option.textContent), " ",
      make("span", "number", `${said(was)} → ${said(is)} `, make("span", word, word)))];
  });
}

function drawList(title, entries) {
  return entries.length ? [make("h4", "", title), make("ul", "", ...entries.map((entry) => spoken("li", "", entry)))] : [];
}

function drawFound(found) {
  if (!found.length) return [];
  const entries = found.flatMap(([n, faults, gaps]) => [
    ...faults.map(([word, reasons]) => spoken("li", "", `Sentence ${n} `, drawFault(word), reasons.length ? ` ${reasons.join(" ")}` : "")),
    ...gaps.map(([label, text]) => spoken("li", "", `At sentence ${n} `, drawFault(label), ` ${text}`)),
  ]);
  return [make("h4", "", "What the critique found"), make("ul", "points", ...entries)];
}

function drawSide(mode, cell, record) {
  const name = make("h3", "", mode, cell ? badge(cell[0]) : make("span", "dim", "not run"));
  const side = make("div", "side", name);
  if (!record) return side;
  const [why, summary, lines, found, undone, cost] = record;
  side.append(paragraph("dim", why));
  if (lines.length) {
    side.append(make("h4", "", cell[0] === "accepted" ? `Changed: ${summary}` : "Tried and not accepted"), ...drawDiff(lines));
  }
  side.append(...drawErrors(cell[1]), ...drawFound(found), ...drawList("Edits that the gate undid", undone));
  side.append(make("p", "dim", cost));
  return side;
}

function choose(place, isAsked) {
  chosen = place;
  const [id, question, seed, cells] = index[place];
  const [original, given, records] = JSON.parse(details[place]);
  at("chosen").hidden = false;
  at("item").replaceChildren(question || id);
  at("item").dir = "auto";
  const about = make("div", "", make("h3", "", "Original answer"), paragraph("text", original));
  const texts = given.map(([name, said]) =>
    make("div", "", spoken("h4", "", name), make("ul", "", ...said.map((text) => spoken("li", "", text)))));
  const texted = texts.length ? folded("What was given", ...texts) : null;
  at("about").replaceChildren(...[make("p", "dim", seeds > 1 ? `${id}, seed ${seed}` : id), about, texted].filter(Boolean));
  at("sides").replaceChildren(...modes.map((mode, n) => drawSide(mode, cells[n], records[n])));
  mark();
  tellWhere();
  makeReachable(at("chosen"));
  if (!isAsked) return;
  history.replaceState(null, "", `#item=${encodeURIComponent(id)}&seed=${seed}`);
  at("item").focus({ preventScroll: true });
  at("chosen").scrollIntoView({ block: "start" });
}

function tellWhere() {
  const n = order.indexOf(chosen);
  at("where").textContent = n < 0 ? "" : `${(n + 1).toLocaleString("en")} of ${order.length.toLocaleString("en")}`;
  at("previous").disabled = n <= 0;
  at("next").disabled = n < 0 || n + 1 >= order.length;
}

function walk(by) {
  const next = order[order.indexOf(chosen) + by];
  if (next !== undefined) choose(next, true);
}

function linked() {
  const [, id, seed] = /^#item=([^&]*)&seed=(\d+)$/.exec(location.hash) ?? [];
  return id === undefined ? -1 : index.findIndex((entry) => entry[0] === decodeURIComponent(id) && entry[2] === Number(seed));
}

let waiting = 0;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(draw, 120);
});
measure.addEventListener("change", draw);
sort.addEventListener("change", () => {
  key = sort.value;
  falling = SORTS[key][1];
  draw();
});
at("turn").addEventListener("click", () => {
  falling = !falling;
  draw();
});
more.addEventListener("click", () => {
  showMore()?.querySelector(".pick").focus({ preventScroll: true });
});
at("previous").addEventListener("click", () => walk(-1));
at("next").addEventListener("click", () => walk(1));
document.querySelector("form.filters").addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("toggle", ({ target }) => {
  if (target.open) makeReachable(target);
}, true);

addEventListener("hashchange", () => {
  if (linked() >= 0 && linked() !== chosen) choose(linked(), true);
});
at("live").hidden = false;
draw();
if (index.length) choose(linked() < 0 ? order[0] : linked(), linked() >= 0);
makeReachable(document);
performance.mark("eirene-ready");
