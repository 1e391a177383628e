// A critique, a comparison of two texts, scores, and the result of a run: drawn for the steps and for the end alike.

const NO_FAULT = "no fault found";
const STYLES = { [NO_FAULT]: "complete", unsupported: "unsupported", contradicted: "contradicted", misplaced: "misplaced",
  "factually wrong": "contradicted", repeated: "repeated", missing: "missing", "an opinion": "opinion" };
const MISSING = "missing here"; // a gap's label; its other one is for what stands elsewhere and belongs there

function styleOf(word) { return "f-" + (STYLES[word] || "other"); }

function drawUnseen(words) { return make("span", { class: "unseen" }, words); }

// A sentence in runs of [words, what is wrong with them, the words that should stand there].
function drawSpans(spans) {
  return spans.flatMap(([words, fault, edit]) => {
    if (!fault) return [words];
    const sign = styleOf(fault) === "f-other" ? "!" : fault.replace("an ", "")[0].toUpperCase();
    const mark = make("mark", { class: "finding " + styleOf(fault) }, drawUnseen(`[${fault}: `), words,
      make("span", { class: "letter", "aria-hidden": "true" }, sign), drawUnseen("]"));
    return edit ? [mark, " ", make("ins", {}, edit)] : [mark];
  });
}

function drawFault(word, more = "") { return make("span", { class: "fault " + styleOf(word) }, word + more); }

function drawBadge(status, word = status) { return make("span", { class: "badge " + status }, word.replaceAll("_", " ")); }

function drawVotes(counted) {
  return counted && counted[0] ? make("span", { class: "votes-of" }, `found in ${counted[0]} of ${counted[1]} draws`) : null;
}

// What is missing before or after a sentence stands on a line of its own, and is no fault of the sentence.
function drawGap(gap, n, counted) {
  const where = gap.before ? (n > 1 ? ` after sentence ${n - 1}` : " at the beginning") : ` after sentence ${n}`;
  const chip = gap.label === MISSING ? drawFault("missing", where) : make("span", { class: "fault f-misplaced" }, "belongs" + where);
  return make("li", { class: "gap " + styleOf(gap.label === MISSING ? "missing" : "misplaced") },
    chip, " ", make("span", { class: "text" }, gap.text), " ", drawVotes(counted));
}

function drawSentence(sentence, counted) {
  const gap = (wanted, first) => sentence.gaps.filter((found) => found.before === wanted).map((found) =>
    drawGap(found, sentence.n, sentence.votes_for_gap && found === first ? counted : null));
  const text = sentence.spans.length ? drawSpans(sentence.spans) : [sentence.text];
  const chips = sentence.faults.length ? sentence.faults.map((fault) => drawFault(fault.word)) : [drawFault(NO_FAULT)];
  const line = make("li", { value: String(sentence.n) },
    ...chips, make("span", { class: "text" }, ...text), " ", sentence.votes_for_gap ? null : drawVotes(counted),
    ...sentence.faults.flatMap((fault) => fault.reasons).map((reason) => make("p", { class: "because" }, reason)));
  return [...gap(true, sentence.gaps[0]), line, ...gap(false, sentence.gaps[0])];
}

function isCalm(sentence) { return !sentence.faults.length && !sentence.gaps.length; }

function drawCritique(critique, counts = null) {
  const lines = critique.sentences.map((sentence) => drawSentence(sentence,
    sentence.votes || (counts && counts.valid ? [counts.incomplete[sentence.n - 1], counts.valid] : null)));
  return [drawList("ol", "sentences", lines.flat()),
    critique.unchecked ? make("p", { class: "hint" }, critique.unchecked) : null];
}

const MOST = 20; // lines of a list that are all shown; the rest is folded

function drawList(tag, name, items) {
  const list = (chosen) => make(tag, { class: name }, ...chosen);
  if (items.length <= MOST + 10) return list(items);
  const rest = items.length - MOST;
  return make("div", {}, list(items.slice(0, MOST)), folded(`${rest} more lines`, list(items.slice(MOST))));
}

const SIGNS = { same: ["", ""], gone: ["−", "removed"], new: ["+", "added"], changed: ["~", "reworded"],
  "moved away": ["−", "moved from here"], "moved here": ["+", "moved to here"] };
const CALM = 6; // unchanged sentences in a row that are all shown; of more, the middle is folded

function drawDiff(lines) {
  const items = [];
  for (let at = 0; at < lines.length;) {
    let end = at;
    while (end < lines.length && lines[end].kind === "same") end++;
    if (end - at > CALM) {
      items.push(...drawLines(lines.slice(at, at + 2)), make("li", { class: "d-same" }, make("span"),
        folded(`${end - at - 4} unchanged sentences`, make("ul", { class: "diff" }, ...drawLines(lines.slice(at + 2, end - 2))))),
        ...drawLines(lines.slice(end - 2, end)));
      at = end;
    } else {
      items.push(...drawLines(lines.slice(at, end + 1)));
      at = end + 1;
    }
  }
  return drawList("ul", "diff", items);
}

function drawLines(lines) {
  return lines.map((line) => {
    const [sign, said] = SIGNS[line.kind];
    const pieces = line.pieces.map((piece) => piece.kind === "same" || !piece.text.trim() // a changed space shows nothing
      ? document.createTextNode(piece.text) : make(piece.kind === "gone" ? "del" : "ins", {}, piece.text.trimEnd()));
    const moved = line.kind.startsWith("moved");
    return make("li", { class: "d-" + line.kind.replace(" ", "-") }, make("span", { class: "sign", "aria-hidden": "true" }, sign),
      make("div", {}, make("p", { class: "text", dir: "auto" }, said ? drawUnseen(said + ": ") : null, ...pieces),
        moved ? make("span", { class: "dim", "aria-hidden": "true" }, said) : null));
  });
}

function drawChange(before, after) {
  if (typeof before !== "number" || typeof after !== "number") return ["–", ""];
  const change = after - before;
  if (Math.abs(change) < 0.0005) return ["same", ""];
  const kind = change < 0 ? "better" : "higher";
  return [(change > 0 ? "+" : "−") + Math.abs(change).toFixed(3) + " " + kind, change < 0 ? kind : ""];
}

// Rows of {detector, error, advisory, scores}, the first score before and the last after; advisory ones stand apart.
function drawScores(columns, rows) {
  if (!rows.length) return make("p", { class: "hint" }, "No detector scored this.");
  const table = (caption, chosen, kind) => chosen.length ? make("div", { class: "scroll" }, make("table", { class: kind },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Error"),
      ...[...columns, "change"].map((name) => make("th", { scope: "col", class: "number" }, name)))),
    make("tbody", {}, ...chosen.map((row) => {
      const [change, tone] = drawChange(row.scores[0], row.scores[row.scores.length - 1]);
      return make("tr", {}, make("th", { scope: "row" }, row.detector + " " + row.error),
        ...row.scores.map((score, n) => make("td", { class: "number", "data-label": columns[n] },
          typeof score === "number" ? score.toFixed(3) : "unscored")),
        make("td", { class: "number " + tone, "data-label": "change" }, change));
    })))) : null;
  return make("div", {},
    table("Scores that decide: errors from 0 to 1, lower is better", rows.filter((row) => !row.advisory), "gating"),
    table("Advisory: shown, and decide nothing", rows.filter((row) => row.advisory), "advisory"));
}

function folded(title, ...children) {
  return make("details", { "aria-label": title }, make("summary", {}, title), ...children);
}

const WORDS = { done: "", running: "running", failed: "failed", cancelled: "stopped" };

function wordOf(run) { return run.state === "done" ? run.status : WORDS[run.state]; }

function toneOf(run) {
  return run.state === "done" || run.state === "failed" ? wordOf(run) : "plain";
}

async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch { // no clipboard without TLS, or it was forbidden
    getSelection().selectAllChildren(button.closest(".card").querySelector(".text"));
    button.textContent = "Selected: press Ctrl+C";
  }
}

function drawAnswer(status, title, text) {
  const copy = make("button", { type: "button" }, "Copy");
  copy.addEventListener("click", () => copyText(text, copy));
  const box = make("section", { class: "card answer" }, make("div", { class: "card-head" }, make("h3", {}, title), copy),
    make("p", { class: "text", dir: "auto" }, text));
  box.style.setProperty("--tone", `var(--${status})`);
  return box;
}

function drawWhat(result) {
  if (result.status === "accepted") return [make("p", { class: "hint" }, result.changes + "."), drawDiff(result.diff)];
  const same = make("p", {}, "Nothing: your answer stands as it was.");
  return result.diff ? [same, folded("The rewrite that was tried", drawDiff(result.diff))] : [same];
}

function drawWhy(result) {
  const first = result.rounds.find((round) => round.critique);
  const undone = result.rounds.flatMap((round) => round.undone);
  const found = first ? first.critique.sentences : [];
  const faulty = found.filter((sentence) => !isCalm(sentence));
  const rest = found.length - faulty.length;
  const parts = [];
  if (faulty.length) parts.push(make("h4", {}, "What was found in your answer"), ...drawCritique({ ...first.critique, sentences: faulty }));
  else if (first && first.critique.unchecked) parts.push(make("p", { class: "hint" }, first.critique.unchecked));
  if (rest) parts.push(folded(`${rest} ${faulty.length ? "other " : ""}sentence${rest > 1 ? "s" : ""}: ${NO_FAULT}`,
    ...drawCritique({ ...first.critique, unchecked: "", sentences: found.filter(isCalm) })));
  if (parts.length) parts.push(make("h4", {}, result.rounds.some((round) => round.rewritten) ? "What the gate decided" : "How it ended"));
  parts.push(make("p", { class: "why" }, result.why), ...result.support.map((line) => make("p", { class: "hint", dir: "auto" }, line)));
  if (result.error) parts.push(make("p", { class: "hint" }, result.error.kind + ": " + result.error.message));
  if (result.status === "not_checked" && result.why === facts.nothingGiven)
    parts.push(make("p", { class: "note" }, "Fill in arguments or passages and refine again, or have the server started with a " +
      "model that judges: --backend provider:model."));
  if (undone.length) parts.push(make("h4", {}, "Edits that were undone"),
    make("ul", { class: "undone" }, ...undone.map((edit) => make("li", {}, edit.what, make("p", { class: "because" }, edit.why)))));
  return parts;
}

function drawRound(round) {
  const decision = round.rewritten ? (round.decision === "accept" ? "accepted" : "rejected") : "no rewrite";
  return make("p", {}, `Round ${round.n}: `, make("strong", {}, decision), ": " + round.why,
    round.taken ? make("span", { class: "hint" }, ` (${round.taken})`) : null);
}

function drawHistory(turns) {
  if (!turns || !turns.length) return null;
  return folded(`The conversation before the question: ${turns.length} turn${turns.length > 1 ? "s" : ""}`,
    make("dl", {}, ...turns.flatMap((turn) => [make("dt", {}, turn.role), make("dd", { class: "text", dir: "auto" }, turn.content)])));
}

function drawResult(run, fill) {
  const { result } = run;
  const first = result.rounds.find((round) => round.critique);
  const again = make("button", { type: "button" }, "Fill the form with this run");
  again.addEventListener("click", () => fill(result.item));
  const edits = result.rounds.map((round) => round.critique).find((critique) => critique && critique.edits.length);
  keepEdits(edits || { edits: [] });
  return [
    make("div", { class: "outcome" }, drawBadge(toneOf(run), result.status), make("p", {}, result.outcome)),
    drawAnswer(result.status, result.status === "accepted" ? "The answer: a rewrite that passed" : "The answer: as it was", result.answer),
    make("section", { class: "card" }, make("h3", {}, "What changed"), ...drawWhat(result)),
    make("section", { class: "card" }, make("h3", {}, "Why"), ...drawWhy(result)),
    make("section", { class: "card" }, make("h3", {}, "Details"),
      edits ? drawEdits() : null,
      result.scores.rows.length || result.scores.notes.length ? folded("Scores", drawScores(result.scores.columns, result.scores.rows),
        ...result.scores.notes.map((note) => make("p", { class: "hint" }, note))) : null,
      drawHistory(result.item.history),
      folded("Rounds, settings and cost", ...result.rounds.map(drawRound),
        first && first.agreement ? make("p", { class: "hint" }, first.agreement + ".") : null,
        make("p", { class: "hint" }, result.facts)),
      make("div", { class: "buttons" }, again,
        run.page ? make("a", { href: run.page.slice(1) }, "Open as a page of its own") : null)),
  ];
}
