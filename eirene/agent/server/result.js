// A critique, a comparison of two texts, scores, and the result of a run: drawn for the steps and for the end alike.

const CLASSES = { complete: "complete", unsupported: "unsupported", contradicted: "contradicted", misplaced: "misplaced",
  repeated: "repeated", missing: "missing", "an opinion": "opinion", incomplete: "other" };

function drawFault(word, more = "") { return make("span", { class: "fault f-" + CLASSES[word] }, word + more); }

function drawBadge(status, word = status) { return make("span", { class: "badge " + status }, word); }

function drawVotes(counted) {
  return counted && counted[0]
    ? make("span", { class: "votes-of" }, `${counted[0]} of ${counted[1]} critiques`) : null;
}

// Each sentence with its own faults; what is missing after it stands on a line of its own, and is no fault of it.
function drawSentence(sentence, counted) {
  const own = sentence.faults.filter((fault) => fault.word !== "missing");
  const gaps = sentence.faults.filter((fault) => fault.word === "missing");
  const text = sentence.spans.length ? drawSpans(sentence.spans) : [sentence.text];
  const chips = own.length ? [...new Set(own.map((fault) => fault.word))].map((word) => drawFault(word)) : [drawFault("complete")];
  const line = make("li", { value: String(sentence.n), class: own.length ? "faulty" : "whole" },
    ...chips, make("span", { class: "text" }, ...text), " ", own.length ? drawVotes(counted) : null,
    ...own.map((fault) => fault.reason ? make("p", { class: "because" }, fault.reason) : null));
  return [line, ...gaps.map((fault) => make("li", { class: "gap" },
    drawFault("missing", fault.after ? " after sentence " + fault.after : " at the beginning"), " ",
    own.length ? null : drawVotes(counted), make("p", { class: "because" }, fault.reason)))];
}

function drawCritique(critique, counts = null) {
  const lines = critique.sentences.map((sentence, n) => drawSentence(sentence,
    sentence.votes || (counts && counts.valid ? [counts.incomplete[n], counts.valid] : null)));
  return [make("ol", { class: "sentences" }, ...lines.flat()),
    critique.kinds.length ? drawLegend(critique.kinds) : null,
    critique.unchecked ? make("p", { class: "hint" }, critique.unchecked) : null];
}

const SIGNS = { same: ["", ""], gone: ["−", "removed: "], new: ["+", "added: "], changed: ["~", "changed: "],
  "moved away": ["↑", "moved from here: "], "moved here": ["↓", "moved to here: "] };

function drawDiff(lines) {
  return make("ul", { class: "diff" }, ...lines.map((line) => {
    const [sign, said] = SIGNS[line.kind];
    const kind = line.kind.endsWith("away") ? "gone" : line.kind.endsWith("here") ? "new" : line.kind;
    const pieces = line.pieces.map((piece) => piece.kind === "same"
      ? document.createTextNode(piece.text) : make(piece.kind === "gone" ? "del" : "ins", {}, piece.text.trim() || piece.text));
    return make("li", { class: "is-" + kind }, make("span", { class: "sign", "aria-hidden": "true" }, sign),
      make("span", { class: "text" }, said ? drawUnseen(said) : null, ...pieces));
  }));
}

function drawChange(before, after) {
  if (typeof before !== "number" || typeof after !== "number") return ["–", ""];
  const change = after - before;
  if (Math.abs(change) < 0.0005) return ["same", ""];
  const kind = change < 0 ? "better" : "worse";
  return [(change > 0 ? "+" : "−") + Math.abs(change).toFixed(3) + " " + kind, kind];
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
  return make("details", {}, make("summary", {}, title), ...children);
}

const WORDS = { done: "", running: "running", failed: "failed", cancelled: "stopped" };

function wordOf(run) { return run.state === "done" ? run.status : WORDS[run.state]; }

function toneOf(run) {
  const word = wordOf(run);
  return ["accepted", "complete", "kept", "abstained", "failed"].includes(word) ? word : "plain";
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
  if (result.status === "accepted")
    return [make("p", { class: "hint" }, "From your answer to the rewrite, sentence by sentence."), drawDiff(result.diff)];
  const same = make("p", {}, "Nothing: your answer stands as it was.");
  return result.diff ? [same, folded("The rewrite that was tried", drawDiff(result.diff))] : [same];
}

function drawWhy(result) {
  const first = result.rounds.find((round) => round.critique);
  const undone = result.rounds.flatMap((round) => round.undone);
  const found = first ? first.critique.sentences : [];
  const faulty = found.filter((sentence) => sentence.faults.length);
  const rest = found.length - faulty.length;
  const shown = first && faulty.length ? drawCritique({ ...first.critique, sentences: faulty }) : [];
  return [
    make("p", {}, make("span", { class: "hint" }, "Decision: "), result.why),
    result.error ? make("p", { class: "hint" }, result.error.kind + ": " + result.error.message) : null,
    result.status === "abstained" && result.why.startsWith(facts.nothingGiven)
      ? make("p", { class: "note" }, "Fill in “Arguments” or “Passages” and refine again, or have the server started with " +
        "a model that judges: --backend provider:model.") : null,
    faulty.length ? make("h4", {}, "What was found in your answer") : null, ...shown,
    first && !faulty.length && first.critique.unchecked ? make("p", { class: "hint" }, first.critique.unchecked) : null,
    rest ? folded(`${rest} ${faulty.length ? "other " : ""}sentence${rest > 1 ? "s are" : " is"} complete`,
      ...drawCritique({ ...first.critique, kinds: [], unchecked: "", sentences: found.filter((s) => !s.faults.length) })) : null,
    undone.length ? make("h4", {}, "Edits that were undone") : null,
    undone.length ? make("ul", {}, ...undone.map((edit) => make("li", {}, edit.what, make("p", { class: "because" }, edit.why)))) : null,
  ];
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
    make("section", { class: "card" }, make("h3", {}, "Why"), ...drawWhy(result).filter(Boolean)),
    make("section", { class: "card" }, make("h3", {}, "Details"),
      edits ? drawEdits() : null,
      folded("Scores", drawScores(result.scores.columns, result.scores.rows),
        ...result.scores.notes.map((note) => make("p", { class: "hint" }, note))),
      folded("Rounds", ...result.rounds.map((round) => make("p", {}, `Round ${round.n}: `,
        make("b", {}, round.rewritten ? (round.decision === "accept" ? "accepted" : "rejected") : "no rewrite"), ", " + round.why,
        round.taken ? make("span", { class: "hint" }, ` (${round.taken})`) : null)),
        first && first.agreement ? make("p", { class: "hint" }, first.agreement + ".") : null,
        make("p", { class: "hint" }, result.facts)),
      make("div", { class: "buttons" }, again,
        run.page ? make("a", { href: run.page.slice(1) }, "Open as a page of its own") : null)),
  ];
}
