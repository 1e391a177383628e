const at = (id) => document.getElementById(id);
const pairs = at("pairs").textContent.split("\n").map((line) => JSON.parse(line));
const place = `eirene-blind-${at("pairs").dataset.number}`;
const buttons = [...document.querySelectorAll("[data-mark]")];
const state = { reader: "", marks: {}, at: 0, ...stored() };
let isKept = true;

// Marks stay in the browser under the page's number. A browser may have no place for them, or something else there.
function stored() {
  try {
    const found = JSON.parse(localStorage.getItem(place));
    return found !== null && pairs[found.at] && typeof found.marks === "object" ? found : {};
  } catch {
    return {};
  }
}

function keep() {
  try {
    localStorage.setItem(place, JSON.stringify(state));
  } catch {
    isKept = false;
  }
}

const marksOf = (pair) => state.marks[pair[0]] ?? { comprehensive: null, preferred: null, faulty: [] };
const isWhole = ({ comprehensive, preferred }) => comprehensive !== null && preferred !== null;
const isBegun = ({ comprehensive, preferred, faulty }) => comprehensive !== null || preferred !== null || faulty.length > 0;

function tell(words) {
  const half = pairs.filter((pair) => isBegun(marksOf(pair)) && !isWhole(marksOf(pair))).length;
  const left = half ? ` Half marked, and left out of the file: ${half}.` : "";
  at("said").textContent = words + left + (isKept ? "" : " This browser keeps nothing: save before you close the page.");
}

function drawMarks() {
  const marks = marksOf(pairs[state.at]);
  for (const button of buttons) {
    const said = marks[button.dataset.mark];
    const value = button.dataset.value;
    button.setAttribute("aria-pressed", String(Array.isArray(said) ? said.includes(value) : said === value));
  }
  const done = pairs.filter((pair) => isWhole(marksOf(pair))).length;
  at("done").value = done;
  at("where").textContent = `Pair ${state.at + 1} of ${pairs.length}; ${done} marked`;
  at("open").disabled = done === pairs.length;
  tell(done === pairs.length ? "All pairs are marked: save them." : `${done} of ${pairs.length} pairs are marked.`);
}

function mark(name, value) {
  const marks = { ...marksOf(pairs[state.at]) };
  if (name !== "faulty") marks[name] = marks[name] === value ? null : value;
  else marks.faulty = marks.faulty.includes(value) ? marks.faulty.filter((one) => one !== value) : [...marks.faulty, value].sort();
  state.marks[pairs[state.at][0]] = marks;
  keep();
  drawMarks();
}

function spoken(tag, className, ...children) {
  const element = make(tag, className, ...children);
  element.dir = "auto";
  return element;
}

function show(n) {
  state.at = n;
  const [, question, conversation, given, a, b] = pairs[n];
  at("pair").textContent = question;
  const texts = given.flatMap(([name, said]) =>
    [spoken("h3", "", name), make("ul", "", ...said.map((text) => spoken("li", "text", text)))]);
  at("given").replaceChildren(...[
    conversation ? drawConversation(conversation) : null,
    texts.length ? folded("What was given with the question", ...texts) : null,
  ].filter(Boolean));
  at("A").textContent = a;
  at("B").textContent = b;
  at("back").disabled = n === 0;
  at("next").disabled = n + 1 === pairs.length;
  keep();
  drawMarks();
}

function walk(by) {
  const next = typeof by === "number" ? state.at + by : by();
  if (!pairs[next]) return;
  show(next);
  at("pair").focus({ preventScroll: true });
  at("live").scrollIntoView({ block: "start" });
}

function nextOpen() {
  const order = [...pairs.keys()].map((n) => (state.at + 1 + n) % pairs.length);
  return order.find((n) => !isWhole(marksOf(pairs[n])));
}

function save() {
  const whole = pairs.filter((pair) => isWhole(marksOf(pair)));
  if (!state.reader) {
    at("reader").focus();
    return tell("Give your name or initials first: it tells readers apart.");
  }
  if (!whole.length) return tell("No pair is marked: say of a pair which is comprehensive, and which is better.");
  const lines = whole.map((pair) => `${JSON.stringify({ pair: pair[0], reader: state.reader, ...marksOf(pair) })}\n`);
  const link = make("a");
  link.download = `marks-${state.reader.replace(/[^\p{L}\p{N}]+/gu, "-")}.jsonl`;
  link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  link.click();
  return tell(`Saved the marks of ${whole.length} of ${pairs.length} pairs as ${link.download}.`);
}

for (const button of buttons) button.addEventListener("click", () => mark(button.dataset.mark, button.dataset.value));
at("back").addEventListener("click", () => walk(-1));
at("next").addEventListener("click", () => walk(1));
at("open").addEventListener("click", () => walk(nextOpen));
at("reader").addEventListener("input", () => {
  state.reader = at("reader").value.trim();
  keep();
});
at("saving").addEventListener("submit", (event) => {
  event.preventDefault();
  save();
});
at("clear").addEventListener("click", () => {
  if (!confirm("Clear the marks of all pairs? What is not saved as a file is lost.")) return;
  state.marks = {};
  show(0);
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input[type=text]");
  if (!at("keys").checked || isTyping || event.ctrlKey || event.altKey || event.metaKey || event.repeat) return;
  const button = buttons.find((one) => one.dataset.key === event.key.toLowerCase());
  if (button) button.click();
  else if (event.key === "ArrowLeft") walk(-1);
  else if (event.key === "ArrowRight") walk(1);
  else return;
  event.preventDefault();
});
at("reader").value = state.reader;
at("live").hidden = false;
show(state.at);
performance.mark("eirene-ready");
