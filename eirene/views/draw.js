// What pages draw themselves: elements, faults and the lines of a comparison, as the macros of parts.html.j2 do.
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

function roled(tag, role, className, ...children) {
  const element = make(tag, className, ...children);
  element.setAttribute("role", role);
  return element;
}

const unseen = (said) => make("span", "unseen", said);
const folded = (title, ...children) => make("details", "", make("summary", "", title), ...children);
const hidden = (element) => { element.setAttribute("aria-hidden", "true"); return element; };
const drawFault = (word) => make("strong", `fault ${(words[word] ?? words.incomplete)[0]}`, word);

const DONE = { gone: "removed", new: "added", "moved away": "moved from here", "moved here": "moved to here" };

function drawPiece([kind, said], line) {
  const shown = said.trim();
  if (kind === "same" || !shown) return [said];
  const at = said.indexOf(shown);
  return [said.slice(0, at), make(kind === "new" ? "ins" : "del", "", unseen(`[${DONE[line] ?? DONE[kind]}: `), shown, unseen("]")), said.slice(at + shown.length)];
}

const SIGNS = { same: "", changed: "~", gone: "−", "moved away": "−", new: "+", "moved here": "+" };

function drawLine([kind, pieces, faults]) {
  const beside = make("div", "", paragraph("text", ...pieces.flatMap((piece) => drawPiece(piece, kind))));
  if (kind.startsWith("moved")) beside.append(hidden(make("span", "dim", kind === "moved here" ? "moved to here" : "moved from here")));
  if (faults.length && kind !== "moved here") beside.append(make("span", "was", make("span", "dim", "found"), ...faults.map(drawFault)));
  return make("li", `d-${kind.replace(" ", "-")}`, hidden(make("span", "sign", SIGNS[kind])), beside);
}

// As `folds` in diff.py: long unchanged runs are folded, and so is what comes after the first changed sentences.
function drawDiff(lines) {
  const [CALM, DRAWN] = [6, 40];
  const parts = [];
  let drawn = 0;
  const show = (run) => {
    if (!run.length) return;
    if (parts.at(-1)?.tagName !== "UL") parts.push(make("ul", "diff"));
    parts.at(-1).append(...run.map(drawLine));
  };
  const fold = (title, run) => {
    if (!run.length) return;
    parts.push(folded(`${run.length.toLocaleString("en")} ${title}`, make("ul", "diff", ...run.map(drawLine))));
    parts.at(-1).className = "folded";
  };
  for (let at = 0; at < lines.length;) {
    const same = lines[at][0] === "same";
    let end = at;
    while (end < lines.length && (lines[end][0] === "same") === same) end += 1;
    const run = lines.slice(at, end);
    at = end;
    if (same) {
      const ends = run.length > CALM ? 2 : run.length;
      const last = Math.max(ends, run.length - 2);
      show(run.slice(0, ends));
      fold("unchanged sentences", run.slice(ends, last));
      show(run.slice(last));
    } else {
      const room = Math.max(0, DRAWN - drawn);
      drawn += run.length;
      show(run.slice(0, room));
      fold("more changed sentences", run.slice(room));
    }
  }
  return parts;
}

// The conversation before a question: the same as in page.html.j2.
function drawConversation([title, note, turns]) {
  const drawnTurns = turns.flatMap(([role, content]) => {
    const said = make("dd", "text", content);
    said.dir = "auto";
    return [make("dt", "", role), said];
  });
  return folded(title, note ? make("p", "dim", note) : null, make("dl", "", ...drawnTurns));
}
