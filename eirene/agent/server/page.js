const facts = JSON.parse(document.getElementById("facts").textContent);
const at = (id) => document.getElementById(id);

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

// ---- requests

class Refused extends Error {
  constructor(said, param) { super(said); this.param = param; }
}

function headers() {
  const key = at("key").value.trim();
  return key ? { Authorization: "Bearer " + key } : {};
}

async function call(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  } catch {
    throw new Refused("The server cannot be reached. Is it still running?");
  }
  if (reply.ok) return reply;
  let error = { message: "the server answered " + reply.status };
  try { error = (await reply.json()).error; } catch { /* no JSON: the status has to do */ }
  if (reply.status === 401) at("key-row").hidden = false;
  throw new Refused(error.message, reply.status === 401 ? "key" : error.param);
}

const runPath = (id, what = "") => "v1/runs/" + encodeURIComponent(id) + what;

// ---- the form

const GROWS = CSS.supports("field-sizing", "content");
function grow(area) {
  if (GROWS) return;
  area.style.height = "auto";
  area.style.height = area.scrollHeight + 2 + "px";
}

function write(area, text) {
  area.value = text;
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

let sidesMade = 0;
function addSide(name = "", lines = []) {
  const n = ++sidesMade;
  const error = (id) => make("p", { class: "error", id, hidden: "" });
  const input = make("input", { id: "side-" + n, class: "side-name", "aria-describedby": `side-${n}-error` });
  input.value = name;
  const text = make("textarea", { id: "arguments-" + n, rows: "2", "aria-describedby": `arguments-${n}-hint arguments-${n}-error` });
  text.value = lines.join("\n");
  const remove = make("button", { type: "button", "aria-label": "Remove side " + n }, "Remove");
  const side = make("div", { class: "side", role: "group", "aria-label": "Side " + n },
    make("div", { class: "side-head" },
      make("div", {}, make("label", { for: input.id }, "Name of the side"), input), remove),
    error(`side-${n}-error`),
    make("div", { class: "field" }, make("label", { for: text.id }, "Its arguments"),
      make("p", { class: "hint", id: `arguments-${n}-hint` }, "One a line."), text, error(`arguments-${n}-error`)));
  remove.addEventListener("click", () => { side.remove(); at("add-side").focus(); });
  at("sides").append(side);
  grow(text);
  return input;
}

// The sides with arguments, each with its fields, so that what is wrong can be told there.
function sidesGiven() {
  return [...at("sides").children].map((side) => {
    const [name, text] = [side.querySelector(".side-name"), side.querySelector("textarea")];
    return { fields: { name, arguments: text }, name: name.value.trim(),
      arguments: text.value.split("\n").map((line) => line.trim()).filter(Boolean) };
  }).filter((side) => side.arguments.length);
}

function passages() {
  return at("passages").value.split(/\n\s*\n/).map((passage) => passage.trim()).filter(Boolean);
}

function problemAt(field, said) {
  const error = at(field.id + "-error");
  error.textContent = said;
  error.hidden = false;
  field.setAttribute("aria-invalid", "true");
}

function noProblemAt(field) {
  const error = at(field.id + "-error");
  if (!error || error.hidden) return;
  error.textContent = "";
  error.hidden = true;
  field.removeAttribute("aria-invalid");
  if (!document.querySelector("[aria-invalid]")) at("problem").textContent = "";
}

function tell(problems) {
  for (const [field, said] of problems) problemAt(field, said);
  at("problem").textContent = problems.length > 1
    ? `${problems.length} fields need a change. ${problems[0][1]}` : problems[0][1];
  problems[0][0].focus();
}

// What can be told without asking the server, as [field, what is wrong with it].
function problemsIn(sides) {
  const found = [];
  if (!at("question").value.trim()) found.push([at("question"), "Give a question."]);
  if (!facts.drafts && !at("answer").value.trim() && sides.length < 2)
    found.push([at("answer"), "Give an answer, or the arguments of two sides: then one is written from them."]);
  const names = new Set();
  for (const side of sides) {
    if (!side.name) found.push([side.fields.name, "Give each side with arguments a name."]);
    else if (names.has(side.name)) found.push([side.fields.name, `Another side is called “${side.name}” already.`]);
    names.add(side.name);
  }
  return found;
}

// The field that the server's `param` speaks of; null where it is none of the form's.
function fieldOf(param, sides) {
  const [name, n, key] = (param || "").split(".");
  if (name === "perspectives") {
    const side = sides[Number(n) || 0];
    return side ? side.fields[key] || side.fields.arguments : null;
  }
  const id = { context: "passages", messages: "answer" }[name] || name;
  return ["key", "question", "answer", "passages", "mode"].includes(id) ? at(id) : null;
}

function refused(error, sides) {
  const field = fieldOf(error.param, sides);
  if (field) tell([[field, error.message]]);
  else at("problem").textContent = error.message;
}

let before = []; // the conversation of the run that the form was filled with

function keepBefore(history) {
  before = history || [];
  const leave = make("button", { type: "button" }, "Ask without it");
  leave.addEventListener("click", () => { keepBefore([]); at("question").focus(); });
  const shown = drawHistory(before);
  if (shown) shown.append(leave);
  at("before").replaceChildren(...(shown ? [shown] : []));
}

function fillForm(item) {
  keepBefore(item.history);
  write(at("question"), item.question);
  write(at("answer"), item.answer || "");
  write(at("passages"), (item.context || []).map((passage) => passage.text || passage).join("\n\n"));
  at("sides").replaceChildren();
  const sides = item.perspectives || [];
  for (const side of sides.length ? sides : [{ name: "pro", arguments: [] }, { name: "con", arguments: [] }])
    addSide(side.name, side.arguments);
}

function formNow() {
  return { question: at("question").value, history: before, answer: at("answer").value,
    context: at("passages").value ? [at("passages").value] : [],
    perspectives: [...at("sides").children].map((side) => ({ name: side.querySelector(".side-name").value,
      arguments: side.querySelector("textarea").value.split("\n") })) };
}

const EXAMPLE = {
  question: "Should the standard working week be cut to four days without a cut in pay?",
  answer: "Supporters of a shorter week say that people who get a third day off come back rested and get as much done in " +
    "less time. Opponents reply that hospitals, care homes and shops cannot close on Fridays, so that they would need to " +
    "hire more staff for the same service.",
  perspectives: [
    { name: "pro", arguments: ["A third day off leaves workers rested and as productive as before",
      "One commuting day less cuts traffic and emissions"] },
    { name: "con", arguments: ["Hospitals, care homes and shops cannot close on Fridays and would need more staff for the same service",
      "Small firms with thin margins cannot bear the higher wage per hour"] },
  ],
};

let replaced = null;
function example() {
  const now = formNow();
  if (now.answer.trim() && now.answer !== EXAMPLE.answer) replaced = now;
  at("restore").hidden = replaced === null;
  fillForm(EXAMPLE);
  submit();
}

function restore() {
  fillForm(replaced);
  replaced = null;
  at("restore").hidden = true;
  at("answer").focus();
}

// ---- the run, as it happens

const STAGES = { queued: "Wait for a place", draft: "Draft", sample_feedback: "Critique", select_critique: "Choose",
  refine: "Rewrite", check: "Check", rescore: "Score", gate: "Decide" };
const DOING = { queued: "Waiting for a place", draft: "Writing a draft", sample_feedback: "Looking for faults",
  select_critique: "Choosing the critique that most agree on", refine: "Rewriting the answer",
  check: "Checking its edits", rescore: "Scoring the rewrite", gate: "Deciding" };
const live = { id: null, watched: 0, began: 0, clock: 0, steps: new Map(), votes: new Map(), draft: "", stages: [] };

function step(id, title, ...children) {
  let box = live.steps.get(id);
  if (!box) {
    box = make("section", { class: "step" });
    live.steps.set(id, box);
    at("steps").append(box);
  }
  box.replaceChildren(make("h3", {}, title), ...children.filter((child) => child !== null));
  return box;
}

function say(text) { if (at("status").textContent !== text) at("status").textContent = text; }

function stage(name, round = 1) {
  const where = round > 1 ? `Round ${round}: ` : "";
  at("doing").textContent = where + DOING[name] + " …";
  say(where + DOING[name] + " …");
  at("bar").removeAttribute("value"); // it counts critiques alone; else it only moves
  const now = live.stages.indexOf(name);
  at("stages").replaceChildren(...live.stages.map((known, n) => {
    const is = n < now ? "done" : n === now ? "now" : "next";
    const mark = is === "now" ? { "aria-current": "step" } : {};
    return make("li", { "data-is": is, ...mark }, STAGES[known], is === "done" ? drawUnseen(" (done)") : null);
  }));
}

function showVotes(event) {
  const count = live.steps.get("votes-" + event.round)?.dataset || { drawn: "0", valid: "0" };
  const drawn = Number(count.drawn) + 1, valid = Number(count.valid) + (event.valid ? 1 : 0);
  const box = step("votes-" + event.round, `Round ${event.round}: readings`,
    make("p", { class: "count" }, `${drawn} of ${event.total} readings of the answer, ${valid} of them count`));
  Object.assign(box.dataset, { drawn, valid });
  at("bar").max = event.total;
  at("bar").value = drawn;
  at("doing").textContent = (event.round > 1 ? `Round ${event.round}: ` : "") + `Looking for faults: reading ${drawn} of ${event.total}`;
}

function showCritique(event) {
  keepEdits(event);
  const agreed = event.tag_consistency === null ? "" : "Tag consistency " + event.tag_consistency.toFixed(2) +
    (event.reason_consistency === null ? "" : ", reason consistency " + event.reason_consistency.toFixed(2)) + ".";
  step("critique-" + event.round, `Round ${event.round}: the critique`,
    ...drawCritique(event, live.votes.get(event.round)), agreed ? make("p", { class: "hint" }, agreed) : null);
}

function scoreRows(event) {
  const rows = Object.entries(event.after).flatMap(([detector, errors]) => Object.entries(errors).map(([error, after]) => (
    { detector, error, advisory: event.advisory.includes(detector), scores: [(event.before[detector] || {})[error], after] })));
  return rows.filter((row) => row.scores.some((score) => typeof score === "number"));
}

const show = {
  queued: () => stage("queued"),
  started: (e) => {
    if (e.drafts) live.stages.splice(1, 0, "draft");
    stage(e.drafts ? "draft" : "sample_feedback");
  },
  node_started: (e) => {
    if (!live.stages.includes(e.node) && STAGES[e.node]) live.stages.push(e.node);
    if (STAGES[e.node]) stage(e.node, e.round);
  },
  draft: (e) => { live.draft = e.text; step("draft", "The answer that is checked", make("p", { class: "text" }, e.text)); },
  sample: showVotes,
  votes: (e) => live.votes.set(e.round, e),
  critique: (e) => { if (e.text.startsWith("abstained")) step("critique-" + e.round, "The critique", make("p", {}, e.text)); },
  critique_chosen: showCritique,
  rewrite: (e) => step("rewrite-" + e.round, `Round ${e.round}: the rewrite`, drawDiff(e.diff),
    e.unusable ? make("p", { class: "worse" }, e.unusable) : null),
  scored: (e) => step("scores-" + e.round, `Round ${e.round}: the scores`, drawScores(["before", "after"], scoreRows(e))),
  decided: (e) => e.rewritten && step("gate-" + e.number, `Round ${e.round}: the decision`, make("p", {},
    make("strong", {}, e.decision === "accept" ? "Accepted" : "Rejected"), ": " + e.why)),
};

async function follow(id, mine) {
  const reply = await call(runPath(id, "/events"));
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (mine !== live.watched) { reader.cancel(); return; }
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      if (!block.startsWith("data: ")) continue;
      const event = JSON.parse(block.slice(6));
      if (show[event.kind]) show[event.kind](event);
    }
  }
}

function begin() {
  for (const known of [live.steps, live.votes]) known.clear();
  Object.assign(live, { id: null, draft: "", began: Date.now(), stages: ["queued", "sample_feedback", "select_critique", "refine", "check", "rescore", "gate"] });
  Object.assign(review, { text: "", edits: [], edited: "" });
  at("steps").replaceChildren();
  at("result").replaceChildren();
  at("watch").dataset.state = "running";
  at("progress").hidden = false;
  at("trail").hidden = false;
  at("trail").open = true;
  canStop(false);
  at("stop").textContent = "Stop";
  at("bar").max = 1;
  stage("queued");
  clearInterval(live.clock);
  const tick = () => { at("elapsed").textContent = Math.floor((Date.now() - live.began) / 1000) + " s"; };
  live.clock = setInterval(tick, 1000);
  tick();
  return ++live.watched;
}

// The run is no longer watched: the frame of its progress goes, and the focus with it if it was there.
function settle(state, said) {
  clearInterval(live.clock);
  if (at("progress").contains(document.activeElement)) at("watch").focus();
  at("progress").hidden = true;
  at("trail").open = false;
  at("trail").hidden = !at("steps").children.length;
  at("watch").dataset.state = state;
  at("go").disabled = false;
  say(said);
}

// A run that has no record: stopped, failed before there was an answer to refine, or passed on as it is.
function drawUnrefined(run) {
  const said = run.error ? run.error.message : run.said ? run.said[0] : "";
  const outcome = { cancelled: "Stopped. Nothing was changed.", failed: "The run failed: nothing was refined." }[run.state]
    || "The answer was passed on as it is.";
  return [make("div", { class: "outcome" }, drawBadge(toneOf(run), wordOf(run)), make("p", {}, outcome)),
    said ? make("p", { class: "note" }, said) : null,
    live.draft ? drawAnswer("edge", "The answer: as it was", live.draft) : null].filter(Boolean);
}

async function finish(id, mine) {
  const run = await (await call(runPath(id, "/result"))).json();
  if (mine !== live.watched) return null;
  if (run.state === "running") throw new Refused("The connection was lost. The run goes on: open it again under “Past runs”.");
  at("result").replaceChildren(...(run.result ? drawResult(run, (item) => { fillForm(item); at("question").focus(); }) : drawUnrefined(run)));
  settle("done", "Ended: " + wordOf(run) + ". " + (run.result ? run.result.why : run.error ? run.error.message : (run.said || [""])[0]));
  if (run.result) showEdits();
  return run;
}

async function watch(id, mine) {
  live.id = id;
  canStop(true);
  await follow(id, mine);
  return mine === live.watched ? finish(id, mine) : null;
}

async function submit(event) {
  event?.preventDefault();
  at("problem").textContent = "";
  for (const field of document.querySelectorAll("[aria-invalid]")) noProblemAt(field);
  const sides = sidesGiven();
  const problems = problemsIn(sides);
  if (problems.length) { tell(problems); return; }
  const body = { question: at("question").value.trim(), mode: at("mode").value };
  if (at("answer").value.trim()) body.answer = at("answer").value;
  if (sides.length) body.perspectives = sides.map((side) => ({ name: side.name, arguments: side.arguments }));
  const context = passages();
  if (context.length) body.context = context;
  if (before.length) body.history = before;
  at("go").disabled = true;
  const mine = begin();
  at("watch").focus();
  try {
    const run = await (await call("v1/runs", { method: "POST", body: JSON.stringify(body) })).json();
    remember(run.id);
    list().catch(() => {}); // it is there to be opened again; the run itself goes on without
    const ended = await watch(run.id, mine);
    if (ended?.error) refused(new Refused(ended.error.message, ended.error.param), sides);
  } catch (error) {
    if (mine !== live.watched) return;
    settle("idle", "Nothing is running.");
    refused(error, sides);
  } finally {
    if (mine === live.watched) list().catch((error) => refused(error, []));
  }
}

async function open(id) {
  const mine = begin();
  at("problem").textContent = "";
  at("go").disabled = false;
  at("watch").focus();
  markOpen(id);
  try {
    await watch(id, mine);
  } catch (error) {
    if (mine === live.watched) settle("idle", error.message);
  }
  if (mine === live.watched) list().catch(() => {});
}

// Not `disabled`: a button that is loses the focus, and whoever pressed it by keyboard with it.
function canStop(can) { at("stop").setAttribute("aria-disabled", String(!can)); }

async function stop() {
  if (at("stop").getAttribute("aria-disabled") === "true") return;
  canStop(false);
  at("stop").textContent = "Stopping …";
  try {
    await call(runPath(live.id, "/cancel"), { method: "POST" });
  } catch (error) {
    at("problem").textContent = error.message;
    at("stop").textContent = "Stop";
    canStop(true);
  }
}

// ---- past runs: those of this tab, and what else the server has done

const KEPT = "eirene-runs";
function mineOf() {
  try { return JSON.parse(sessionStorage.getItem(KEPT)) || []; } catch { return []; } // no storage, or not ours
}

function remember(id) {
  try { sessionStorage.setItem(KEPT, JSON.stringify([id, ...mineOf()].slice(0, 200))); } catch { /* then it is not kept */ }
}

function drawRun(run) {
  const button = make("button", { type: "button", class: "open", "data-id": run.id }, run.question || run.id);
  button.addEventListener("click", () => open(run.id));
  const when = new Date(run.created * 1000);
  return make("li", {}, button, make("div", { class: "meta" }, drawBadge(toneOf(run), wordOf(run)),
    make("time", { datetime: when.toISOString() }, when.toLocaleTimeString()), run.mode,
    run.page ? make("a", { href: run.page.slice(1), "data-id": run.id, "aria-label": "Page of the run: " + (run.question || run.id) }, "Page") : null));
}

function markOpen(id) {
  for (const button of document.querySelectorAll("#past .open")) {
    const isOpen = button.dataset.id === id;
    button.closest("li").dataset.open = String(isOpen);
    if (isOpen) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current");
  }
}

async function list() {
  const found = await (await call("v1/runs")).json();
  const own = new Set(mineOf());
  const [here, others] = [found.data.filter((run) => own.has(run.id)), found.data.filter((run) => !own.has(run.id))];
  const focused = document.activeElement;
  at("runs").replaceChildren(...here.map(drawRun));
  if (!here.length) at("runs").append(make("li", { class: "hint" }, "Runs that you start in this tab are listed here."));
  at("other-runs").replaceChildren(...others.map(drawRun));
  at("others").hidden = !others.length;
  at("others").firstElementChild.textContent = `Other recent runs of this server (${others.length})`;
  markOpen(live.id);
  if (focused?.dataset.id && !focused.isConnected) // the list is drawn anew: who was in it stays in it
    document.querySelector(`#past ${focused.tagName}[data-id="${CSS.escape(focused.dataset.id)}"]`)?.focus();
}

// ---- the beginning

at("answer-hint").textContent = facts.drafts ? "Leave it empty and the model writes one."
  : "Leave it empty to have one written from two sides' arguments.";
at("given-hint").textContent = facts.needsGiven
  ? "Fill in arguments or passages: with nothing to compare with, the answer is not judged."
  : "Optional: arguments or passages. With nothing given, the model judges alone.";
at("key-row").hidden = !facts.wantsKey;
for (const option of [...at("mode").options]) if (!facts.modes.includes(option.value)) option.remove();
at("mode").value = facts.mode;
addSide("pro");
addSide("con");
at("ask").addEventListener("submit", submit);
at("ask").addEventListener("input", (event) => {
  noProblemAt(event.target);
  if (event.target.matches("textarea")) grow(event.target);
});
at("add-side").addEventListener("click", () => addSide().focus());
at("example").addEventListener("click", example);
at("restore").addEventListener("click", restore);
at("stop").addEventListener("click", stop);
at("reload").addEventListener("click", () => list().catch((error) => refused(error, [])));
if (facts.wantsKey) at("runs").append(make("li", { class: "hint" }, "Give the key, then reload the list."));
else list().catch((error) => refused(error, []));
