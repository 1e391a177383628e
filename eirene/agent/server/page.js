const facts = JSON.parse(document.getElementById("facts").textContent);
const at = (id) => document.getElementById(id);
let watched = 0;

// Every text goes in as text: nothing that a model or a user wrote is ever read as markup.
function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") element.className = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function headers() {
  const key = at("key").value.trim();
  return key ? { Authorization: "Bearer " + key } : {};
}

async function call(path, options = {}) {
  const reply = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  if (reply.ok) return reply;
  let said = "the server answered " + reply.status;
  try { said = (await reply.json()).error.message; } catch { /* no JSON: the status has to do */ }
  if (reply.status === 401) at("key-row").hidden = false;
  throw new Error(said);
}

let sidesMade = 0;
function addSide(name = "", lines = []) {
  const n = ++sidesMade;
  const input = make("input", { id: "side-" + n, class: "side-name" });
  input.value = name;
  const text = make("textarea", { id: "arguments-" + n, rows: "3" });
  text.value = lines.join("\n");
  const remove = make("button", { type: "button", "aria-label": "Remove this side" }, "Remove");
  const side = make("div", { class: "side", role: "group", "aria-label": "Side " + n },
    make("div", { class: "side-head" },
      make("div", {}, make("label", { for: input.id }, "Name of the side"), input), remove),
    make("label", { for: text.id }, "Its arguments"), text);
  remove.addEventListener("click", () => { side.remove(); at("add-side").focus(); });
  at("sides").append(side);
  return input;
}

function perspectives() {
  const found = [];
  for (const side of at("sides").children) {
    const lines = side.querySelector("textarea").value.split("\n").map((line) => line.trim()).filter(Boolean);
    const name = side.querySelector(".side-name").value.trim();
    if (!lines.length) continue;
    if (!name) throw new Error("Give each side with arguments a name.");
    found.push({ name, arguments: lines });
  }
  return found;
}

function passages() {
  return at("passages").value.split(/\n\s*\n/).map((passage) => passage.trim()).filter(Boolean);
}

// ---- the run, as it happens

const parts = new Map();
function step(id, title, ...children) {
  let box = parts.get(id);
  if (!box) {
    box = make("section", { class: "step" });
    parts.set(id, box);
    at("steps").append(box);
  }
  box.replaceChildren(make("h3", {}, title), ...children.filter((child) => child !== null));
  return box;
}

function words(text) { return text.match(/\s+|[^\s]+/g) || []; }

// The longest common sequence of words. Beyond a size where that takes long, the new text alone is shown.
function difference(before, after) {
  const a = words(before), b = words(after);
  if (a.length * b.length > 4e6) return [["same", after]];
  const table = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const out = [];
  const put = (kind, text) => {
    if (out.length && out[out.length - 1][0] === kind) out[out.length - 1][1] += text;
    else out.push([kind, text]);
  };
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { put("same", a[i]); i++; j++; }
    else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) put("del", a[i++]);
    else put("ins", b[j++]);
  }
  return out;
}

function showVotes(event) {
  const id = "votes-" + event.round;
  let box = parts.get(id);
  if (!box) {
    const bar = make("progress", { max: String(event.total), value: "0", "aria-label": "critiques drawn" });
    box = step(id, "Round " + event.round + ": votes", make("p", { class: "count" }), bar);
    box.dataset.valid = "0";
  }
  if (event.valid) box.dataset.valid = String(Number(box.dataset.valid) + 1);
  box.dataset.drawn = String(Number(box.dataset.drawn || 0) + 1);
  const bar = box.querySelector("progress");
  if (bar) bar.value = Number(box.dataset.drawn);
  box.querySelector(".count").textContent =
    box.dataset.drawn + " of " + event.total + " critiques drawn, " + box.dataset.valid + " can be counted";
}

const votes = new Map();
let draft = "";  // what the answer is where it was not refined
function showCritique(event) {
  const counts = votes.get(event.round);
  const lines = event.sentences.map((sentence, n) => make("li", {},
    make("span", { class: "tag " + (event.unchecked && sentence.tag === "Complete" ? "" : sentence.tag) },
      sentence.tag + (counts ? " " + counts.incomplete[n] + "/" + counts.valid : "")), " ",
    ...(sentence.spans.length ? drawSpans(sentence.spans) : [sentence.text]),
    sentence.reason ? make("div", { class: "reason" }, "because: " + sentence.reason) : null));
  const agreed = event.tag_consistency === null ? "" : "Tag consistency " + event.tag_consistency.toFixed(2) +
    ", reason consistency " + event.reason_consistency.toFixed(2) + ".";
  keepEdits(event);
  step("critique-" + event.round, "Round " + event.round + ": the critique",
    make("ol", { class: "sentences" }, ...lines), event.kinds.length ? drawLegend(event.kinds) : null,
    event.unchecked ? make("p", { class: "hint" }, "Not checked: " + event.unchecked + ".") : null,
    make("p", { class: "hint" }, agreed + " The fraction: how many critiques called the sentence incomplete."));
}

function showRewrite(event) {
  const pieces = difference(event.before, event.after).map(([kind, text]) =>
    kind === "same" ? document.createTextNode(text) : make(kind, {}, text));
  step("rewrite-" + event.round, "Round " + event.round + ": the rewrite", make("p", { class: "text" }, ...pieces),
    event.unusable ? make("p", { class: "worse" }, event.unusable) : null);
}

function showScores(event) {
  const rows = [];
  const isAdvisory = (detector) => event.advisory.includes(detector);
  const found = Object.entries(event.after).sort(([a], [b]) => isAdvisory(a) - isAdvisory(b));
  for (const [detector, errors] of found) {
    for (const [error, after] of Object.entries(errors)) {
      const before = (event.before[detector] || {})[error];
      const known = typeof before === "number" && typeof after === "number";
      const change = known ? after - before : 0;
      const kind = Math.abs(change) < 0.0005 ? "" : change < 0 ? "better" : "worse";
      const shown = (value) => (typeof value === "number" ? value.toFixed(3) : "unscored");
      const advisory = isAdvisory(detector);
      rows.push(make("tr", advisory ? { class: "muted" } : {},
        make("th", { scope: "row" }, detector + " " + error + (advisory ? " (advisory)" : "")),
        make("td", { class: "n" }, shown(before)), make("td", { class: "n" }, shown(after)),
        make("td", { class: "n " + kind }, known ? (kind ? (change > 0 ? "+" : "−") + Math.abs(change).toFixed(3) + " " + kind : "same") : "–")));
    }
  }
  const head = make("tr", {}, make("th", { scope: "col" }, "Error, 0 to 1"), make("th", { scope: "col", class: "n" }, "Before"),
    make("th", { scope: "col", class: "n" }, "After"), make("th", { scope: "col", class: "n" }, "Change"));
  step("scores-" + event.round, "Round " + event.round + ": the scores",
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)),
    event.advisory.length ? make("p", { class: "hint" }, "Advisory scores are shown, and decide nothing.") : null);
}

const steps = {
  sample_feedback: "drawing critiques", select_critique: "choosing a critique", refine: "rewriting",
  rescore: "scoring", gate: "deciding",
};
const show = {
  node_started: (e) => { at("status").textContent = "Round " + e.round + ": " + steps[e.node] + " …"; },
  draft: (e) => { draft = e.text; step("draft", "The answer so far", make("p", { class: "text" }, draft)); },
  sample: showVotes,
  votes: (e) => votes.set(e.round, e),
  critique: (e) => { if (e.text.startsWith("abstained")) step("critique-" + e.round, "The critique", make("p", {}, e.text)); },
  critique_chosen: showCritique,
  rewrite: showRewrite,
  scored: showScores,
  decided: (e) => e.rewritten && step("gate-" + e.number, "The gate", make("p", {},
    make("span", { class: "tag " + (e.decision === "accept" ? "Complete" : "Incomplete") }, e.decision), " ", e.why)),
};

async function follow(id, mine) {
  const reply = await call("v1/runs/" + encodeURIComponent(id) + "/events");
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done || mine !== watched) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      if (!block.startsWith("data: ")) continue;
      const event = JSON.parse(block.slice(6));
      if (show[event.kind]) show[event.kind](event);
    }
  }
}

async function finish(id) {
  const run = await (await call("v1/runs/" + encodeURIComponent(id))).json();
  if (run.state !== "done") {
    const said = run.error ? run.error.message : "the run was " + run.state;
    at("status").textContent = "Ended: " + said;
    at("problem").textContent = said;
    return;
  }
  const record = run.records[0];
  at("status").textContent = record ? "Ended: " + record.status + ". " + record.why : "Ended: " + run.why[0];
  if (record && record.why.startsWith(facts.nothingGiven))
    step("how", "What would help", make("p", {}, "Fill in “Arguments” or “Passages” and refine again, " +
      "or have the server started with a model that judges: --backend provider:model."));
  const text = record ? record.answer : draft;
  const box = step("answer", record && record.status === "accepted" ? "The answer: a rewrite that passed" : "The answer: as it was",
    make("p", { class: "text" }, text));
  box.classList.add("answer");
  drawEdits();
}

async function submit(event) {
  event.preventDefault();
  at("problem").textContent = "";
  const mine = ++watched;
  try {
    const question = at("question").value.trim();
    if (!question) { at("question").focus(); throw new Error("Give a question."); }
    const body = { question, mode: at("mode").value };
    if (at("answer").value.trim()) body.answer = at("answer").value;
    const sides = perspectives();
    if (sides.length) body.perspectives = sides;
    const context = passages();
    if (context.length) body.context = context;
    at("go").disabled = true;
    parts.clear();
    votes.clear();
    draft = "";
    Object.assign(review, { text: "", edits: [], edited: "" });
    at("steps").replaceChildren();
    at("status").textContent = "Waiting for a place …";
    const run = await (await call("v1/runs", { method: "POST", body: JSON.stringify(body) })).json();
    at("watch").focus();
    await follow(run.id, mine);
    if (mine === watched) await finish(run.id);
    await list();
  } catch (error) {
    at("problem").textContent = error.message;
    at("status").textContent = "Nothing is running.";
  } finally {
    at("go").disabled = false;
  }
}

async function list() {
  const found = await (await call("v1/runs")).json();
  at("runs").replaceChildren(...found.data.map((run) => {
    const title = run.question || run.id;
    const name = run.page ? make("a", { href: run.page.slice(1) }, title) : make("span", {}, title);
    const when = new Date(run.created * 1000).toLocaleTimeString();
    const what = run.state === "running" ? "running" : run.state === "done" ? run.status : run.state + ": " + run.status;
    return make("li", {}, name, make("div", { class: "meta" }, when + " · " + run.mode + " · " + what));
  }));
  if (!found.data.length) at("runs").append(make("li", {}, "There are none."));
}

function example() {
  at("question").value = "Should the standard working week be cut to four days without a cut in pay?";
  at("answer").value = "Supporters of a shorter week say that people who get a third day off come back rested and get as " +
    "much done in less time. Opponents reply that hospitals, care homes and shops cannot close on Fridays, so that they " +
    "would need to hire more staff for the same service.";
  at("passages").value = "";
  at("sides").replaceChildren();
  addSide("pro", ["A third day off leaves workers rested and as productive as before",
    "One commuting day less cuts traffic and emissions"]);
  addSide("con", ["Hospitals, care homes and shops cannot close on Fridays and would need more staff for the same service",
    "Small firms with thin margins cannot bear the higher wage per hour"]);
  at("question").focus();
}

at("answer-hint").textContent = facts.drafts ? "optional; the model writes one" : "optional with two sides: one is written from their arguments";
at("key-row").hidden = !facts.wantsKey;
for (const option of [...at("mode").options]) if (!facts.modes.includes(option.value)) option.remove();
at("mode").value = facts.mode;
addSide("pro");
addSide("con");
at("ask").addEventListener("submit", submit);
at("add-side").addEventListener("click", () => addSide().focus());
at("example").addEventListener("click", example);
at("reload").addEventListener("click", () => list().catch((error) => { at("problem").textContent = error.message; }));
if (!facts.wantsKey) list().catch((error) => { at("problem").textContent = error.message; });
