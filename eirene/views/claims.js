// A record's claims with evidence: the same as in page.html.j2.
const drawEvidence = ([lead, place, words]) => paragraph("reason", lead, make("b", "", place), ": ", words);

function drawClaim([n, verdict, words, why, evidence, figures]) {
  return make("li", "", paragraph("text", make("span", "dim", `${n}.`), " ", drawFault(verdict), " ", words),
    why ? paragraph("dim", why) : null, evidence ? drawEvidence(evidence) : null, figures ? make("p", "dim", figures) : null);
}

function drawQuotation([n, verdict, words, said, evidence]) {
  return make("li", "", paragraph("text", make("span", "dim", `In ${n}.`), " ", drawFault(verdict), " ", words),
    said ? paragraph("", said) : null, evidence ? drawEvidence(evidence) : null);
}

const drawUnsaid = (found) => folded("Perhaps left out of the answer", make("p", "dim", "P: how likely people would miss the sentence."),
  ...found.map(drawEvidence));

function drawVerification(title, [, claims, quotations]) {
  return folded(title, make("ul", "sentences", ...claims.map(drawClaim)),
    quotations.length ? make("p", "", make("b", "", "Quotations")) : null,
    quotations.length ? make("ul", "sentences", ...quotations.map(drawQuotation)) : null);
}

function drawClaims([, answer, original, why]) {
  if (!answer) return [paragraph("", `Not verified: ${why}.`)];
  return [...answer[0].map((line) => paragraph("", line)),
    original ? paragraph("dim", `Of the original: ${original[0][0]}`) : null,
    drawVerification("The answer, sentence by sentence", answer),
    answer[3].length ? drawUnsaid(answer[3]) : null,
    original ? drawVerification("The original answer, sentence by sentence", original) : null].filter(Boolean);
}
