// What was found in a sentence, in runs of its text: a line under it by kind, the kind's letter, and the words that
// should stand there. The same as the macro `spans` of the pages that need no script.
function drawMark(kind, ...inside) {
  const mark = document.createElement("mark");
  mark.className = `finding ${kind}`;
  const letter = document.createElement("b");
  letter.className = "letter";
  letter.textContent = kind[0].toUpperCase();
  mark.append(...inside, letter);
  return mark;
}

function drawUnseen(words) {
  const span = document.createElement("span");
  span.className = "unseen";
  span.textContent = words;
  return span;
}

function drawSpans(spans) {
  return spans.flatMap(([words, kind, edit]) => {
    if (!kind) return [words];
    const mark = drawMark(kind, drawUnseen(`[${kind}: `), words);
    mark.querySelector(".letter").setAttribute("aria-hidden", "true");
    mark.append(drawUnseen("]"));
    if (!edit) return [mark];
    const added = document.createElement("ins");
    added.textContent = edit;
    return [mark, " ", added];
  });
}
