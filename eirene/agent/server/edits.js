
// ---- the edits: each accepted or rejected, the text made by the server's own rules

const review = { text: "", edits: [], asked: 0, edited: "" };

// The edits of the first critique that has any: those that speak of the answer as it was given.
function keepEdits(event) {
  if (!review.edits.length && event.edits.length) Object.assign(review, { text: event.text, edits: event.edits });
}

function inWords(edit) {
  const old = edit.old.trim() ? `“${edit.old.trim()}”` : "";
  if (!edit.edit) return `${old} is removed`;
  return old ? `${old} becomes “${edit.edit}”` : `“${edit.edit}” is put in`;
}

function drawEdit(edit, n) {
  const toggle = (accepted, name) => {
    const button = make("button", { type: "button", "data-accepts": String(accepted) }, name);
    button.addEventListener("click", () => { edit.accepted = accepted; showEdits(); });
    return button;
  };
  const shown = drawSpans([[edit.old, edit.word, edit.edit]]);
  const name = `Edit ${n + 1}, ${edit.word}: ${inWords(edit)}`;
  return make("li", {},
    make("div", { class: "text" }, `${n + 1}. `, ...shown, edit.edit ? null : make("span", { class: "hint" }, " to be removed")),
    edit.reason ? make("div", { class: "reason" }, "because: " + edit.reason) : null,
    make("div", { class: "choices", role: "group", "aria-label": name }, toggle(true, "Accept"), toggle(false, "Reject")),
    make("p", { class: "hint beside", hidden: "" }, "Not made: it lies within another edit, or the text reads so already."));
}

async function showEdits() {
  if (!review.edits.length) return;
  const mine = ++review.asked;
  const [list, told] = [document.querySelector("ol.edits"), at("edits-told")];
  review.edits.forEach((edit, n) => {
    const item = list.children[n];
    item.classList.toggle("rejected", !edit.accepted);
    for (const button of item.querySelectorAll("button"))
      button.setAttribute("aria-pressed", String((button.dataset.accepts === "true") === edit.accepted));
  });
  const accepted = review.edits.filter((edit) => edit.accepted);
  const findings = accepted.map(({ kind, start, end, edit }) => ({ kind, start, end, edit }));
  try {
    const body = JSON.stringify({ text: review.text, findings });
    const made = await (await call("v1/edits", { method: "POST", body })).json();
    if (mine !== review.asked) return;
    review.edited = made.text;
    at("edited").textContent = made.text;
    accepted.forEach((edit, n) => { edit.skipped = made.skipped.includes(n); });
    review.edits.forEach((edit, n) => {
      list.children[n].querySelector(".beside").hidden = !(edit.accepted && edit.skipped);
    });
    told.textContent = `${accepted.length} of ${review.edits.length} edits accepted` +
      (made.skipped.length ? `, ${made.skipped.length} of them not made.` : ".");
  } catch (error) {
    if (mine === review.asked) told.textContent = "The text could not be made: " + error.message;
  }
}

// Folded: what the gate decided stands above it, and this is for who wants another choice.
function drawEdits() {
  const button = (name, act) => {
    const made = make("button", { type: "button" }, name);
    made.addEventListener("click", () => act(made));
    return made;
  };
  const all = (accepted) => () => { for (const edit of review.edits) edit.accepted = accepted; showEdits(); };
  const refineIt = () => { write(at("answer"), review.edited); at("answer").focus(); };
  for (const edit of review.edits) edit.accepted = true;
  return make("details", { id: "choose", "aria-label": "Edits" },
    make("summary", {}, `Choose the edits yourself (${review.edits.length})`),
    make("p", { class: "hint" }, "The edits of the first critique, made in your answer. Green words replace the marked ones before " +
      "them; marked words without green ones are removed."),
    make("div", { class: "buttons" }, button("Accept all", all(true)), button("Reject all", all(false))),
    make("ol", { class: "edits" }, ...review.edits.map(drawEdit)),
    make("p", { id: "edits-told", role: "status" }),
    make("h4", {}, "The text with the accepted edits"),
    make("p", { class: "text", id: "edited", dir: "auto", tabindex: "-1" }),
    make("div", { class: "buttons" }, button("Copy the text", copyEdited), button("Use it as the answer", refineIt)));
}

async function copyEdited() {
  try {
    await navigator.clipboard.writeText(review.edited);
    at("edits-told").textContent = "Copied.";
  } catch { // no clipboard without TLS, or it was forbidden
    getSelection().selectAllChildren(at("edited"));
    at("edits-told").textContent = "The text is selected; press Ctrl+C to copy it.";
  }
}
