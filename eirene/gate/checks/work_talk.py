"""Talk about the work: openers, notes, meta words, closings, orders to a reader or a model, labels of our prompts.

Each rule is about a class of words: who speaks (the first person), what about (answers, requests), what was done
(verbs of writing), where it stands (openers and labels).
"""

from __future__ import annotations

import re

_META = (
    r"(?:answers?|rewrit(?:e|es|ing|ten)|responses?|versions?|revisions?|drafts?|repl(?:y|ies)|feedback|critiques?"
    r"|prompts?|requests?|rephrasing|rewording|paraphrase|wording|edits|essay|summary|corrections?|improvements?|output)"
)
_WORKED = (
    r"(?:revised|improved|updated|corrected|rewritten|refined|polished|edited|requested|rephrased|reworded|enhanced"
    r"|expanded|shortened|restructured|cleaned)"
)
_WORK = (
    r"(?:rewr(?:ite|ote|itten|iting)|revis(?:e|ed|ing)|improv(?:e|ed|ing)|edit(?:ed|ing)?|rephras(?:e|ed|ing)"
    r"|reword(?:ed|ing)?|paraphras(?:e|ed|ing)|updat(?:e|ed|ing)|correct(?:ed|ing)?|add(?:ed|ing)?|remov(?:e|ed|ing)"
    r"|includ(?:e|ed|ing)|incorporat(?:e|ed|ing)|address(?:ed|ing)?|adjust(?:ed|ing)?|shorten(?:ed|ing)?"
    r"|expand(?:ed|ing)?|clarif(?:y|ied|ying)|polish(?:ed|ing)?|fix(?:ed|ing)?|chang(?:e|ed|ing)|modif(?:y|ied|ying)"
    r"|restructur(?:e|ed|ing)|ensur(?:e|ed|ing)|kept|keep|preserv(?:e|ed|ing)|maintain(?:ed|ing)?|mention(?:ed|ing)?"
    r"|cover(?:ed|ing)?|tried|attempt(?:ed|ing)?|follow(?:ed|ing)?|base[ds]?|made|provid(?:e|ed|ing)|complet(?:e|ed)"
    r"|summari[sz](?:e|ed|ing)|generat(?:e|ed)|produc(?:e|ed)|wr(?:ite|ote|itten)|draft(?:ed)?|refin(?:e|ed)|check(?:ed)?"
    r"|verif(?:y|ied)|balanc(?:e|ed)|left|omit(?:ted)?|tak(?:e|en)|used?|help(?:ed)?|assist|present(?:ed)?|reflect(?:s|ed)?"
    r"|answer(?:ed)?|respond(?:ed)?|explain(?:ed)?|discuss(?:ed)?|review(?:ed)?|read|process(?:ed)?|apologi[sz]e)"
)
_YES = (
    r"(?:sure(?:\s+thing)?|certainly|of\s+course|absolutely|okay|ok|alright|all\s+right|right|yes|no\s+problem|got\s+it"
    r"|understood|noted|great(?:\s+question)?|good\s+question|gladly|with\s+pleasure|my\s+pleasure|perfect|done|voil[aà]"
    r"|hi|hello|hey|greetings|dear\s+\w+|good\s+(?:morning|day|evening|afternoon)|welcome|thanks|thank\s+you|sorry"
    r"|apologies|cheers|best\s+(?:wishes|regards)|kind\s+regards|regards|sincerely|yours(?:\s+\w+)?)"
)
_LABEL = (
    r"(?:verdict|score|rating|reasons?|reasoning|rationale|response|answer|introduction|question|input|output|result"
    r"|instructions?|sentence\s+\d+|statement\s+\d+|attempt\s+\d+|critique|feedback|consistency|factuality|coherence"
    r"|relevance|fluency|grade|tags?|label|conclusion|assistant|user|system|human|ai|bot|model|note|nb|n\.b\.|ps|p\.s\.|p\.p\.s\."
    r"|disclaimer|edit|edited|update|changes?(?:\s+made)?|changelog|explanation|summary(?:\s+of\s+changes)?|warning"
    r"|comment|revision|rewrite|rewritten(?:\s+\w+)?|version|draft|word\s+count|confidence|sources?|tl;?\s?dr|remark|hint"
    r"|(?:final|revised|improved|updated|corrected|rewritten|new|full|complete|refined|original|better)\s+\w+"
    r"|perspectives?|arguments?\s+(?:for|against)|what\s+is\s+wrong|turned\s+down\s+because|thought|thinking"
    r"|end(?:\s+of\s+\w+)?|begin|start|important|attention|action|title|subject|re|to|from|date|p\.?s|task|context|passages?)"
)
_AUX = (
    r"(?:\s+(?:have|had|has|been|will|would|can|could|did|do|am|are|was|is|also|just|now|only|simply|not|tried\s+to|made\s+sure"
    r"|hope|hereby|should|must|want(?:ed)?\s+to|need\s+to|\w+ly)){0,4}"
)
_SOURCES: tuple[tuple[str, str], ...] = (
    (
        rf"\A\W*{_YES}(?=\s*[!.,:–—-]*\s*\Z|\s*[!.:]|\s*[,–—-]+\s*(?:here|i\b|let|below|this\s+is|we\b|happy|glad|thank|as\s"
        r"|no\s+problem|the\s+following|one\s+moment|absolutely|sure|you\b|there\b))[^.!?:]*[.!?:]?",
        "words to the user",
    ),
    (
        r"\b(?:here(?:['’]s|\s+is|\s+are|\s+you\s+go|\s+goes|\s+comes)|below\s+(?:is|are|you)|(?:the\s+)?following\s+(?:is|are)"
        rf"|please\s+find|attached\s+(?:is|are)|you(?:['’]ll|\s+will|\s+can)?\s+find)\b[^.!?\n]{{0,100}}?\b{_META}\b",
        "words about the rewrite",
    ),
    (
        rf"\A\W*(?:here(?:['’]s|\s+it\s+is|\s+you\s+go|\s+we\s+go)\b[^.!?\n]{{0,80}}[:!]\W*\Z|this\s+is\b[^.!?\n]{{0,60}}\b{_META}\b)",
        "words about the rewrite",
    ),
    (
        rf"\b(?-i:I)(?:['’](?:ve|ll|d|m))?{_AUX}\s+{_WORK}\b[^.!?\n]{{0,80}}?\b(?:{_META}|it|this|that|above|below|you|your|points?"
        r"|arguments?|perspectives?|missing|grammar|clarity|style|flow|length|neutral|balanced|sides?|sentences?|text)\b",
        "words about the work",
    ),
    (
        rf"\bwe(?:['’](?:ve|ll|d|re))?{_AUX}\s+{_WORK}\b[^.!?\n]{{0,80}}?\b(?:{_META}|your|the\s+above)\b",
        "words about the work",
    ),
    (
        r"\b(?:(?:this|my|your|above|our)\s+(?:\w+\s+)?(?:answer|rewrite|response|reply|revision|feedback|critique|prompt|text|draft|version"
        rf"|summary|instructions?)|the\s+(?:answer|rewrite|rewriting|reply|response|critique|revision))(?:\s+(?:above|below))?{_AUX}"
        rf"\s+{_WORK}(?:e?s)?\b",
        "words about the work",
    ),
    (
        rf"\b{_WORKED}(?:\s+and\s+\w+)?\s+(?:\w+\s+)?(?:answer|rewrite|response|version|draft|reply|essay|summary|wording|text|paragraph)\b"
        r"(?!\s+of\s+the\s+(?!answer|text|response))",
        "words about the work",
    ),
    (
        r"\b(?:original|previous|above|earlier|final|better|new|full|complete|neutral)\s+(?:and\s+\w+\s+|\w+\s+)?"
        r"(?:answer|rewrite|reply|feedback|critique|prompt|wording)\b",
        "words about the work",
    ),
    (
        r"\bas\s+(?:you\s+)?(?:requested|asked|instructed|wished|you\s+\w+ed)\b"
        r"|\bper\s+(?:your\s+\w+|the\s+(?:\w+\s+)?(?:instructions?|prompt|requests?|feedback|critique|guidelines))\b"
        r"|\b(?:based\s+on|in\s+line\s+with|according\s+to|following|in\s+response\s+to|given|to\s+address|with)\s+"
        r"(?:your|the\s+(?:above|given|provided|following|user['’]s))\s+(?:\w+\s+)?"
        r"(?:feedback|critique|criticism|instructions?|prompt|requests?|suggestions?|comments|remarks|passages?|context|arguments?)\b",
        "words about the work",
    ),
    (
        r"\blet\s+me\s+know\b|\bfeel\s+free\b|(?:\A\W*|\bi\s+|\bwe\s+)hope\s+(?:this|that|it|you|i)\b[^.!?\n]{0,30}"
        r"|(?:\A\W*|\bi['’]m\s+|\bi\s+am\s+|\bwe['’]re\s+|\bwe\s+are\s+|\balways\s+)(?:happy|glad|here)\s+to\s+\w+"
        r"|\b(?:happy|glad)\s+to\s+(?:help|assist|clarify|revise|elaborate)\b|\banything\s+else\s+(?:you|i)\b|\bany\s+further\s+\w+"
        r"|\b(?:would|do)\s+you\s+(?:like|want|need|prefer)\b|\b(?:shall|should|can|may|could)\s+i\s+\w+\s+(?:it|this|that|the|anything|you|more)\b"
        r"|\bif\s+you(?:['’]d|\s+would)?\s+(?:like|want|need|have|prefer|wish)\s+(?:me|more|any|further|another|additional|anything|help|assistance"
        r"|clarification|changes|to\s+know|a\s+(?:shorter|longer|different))\b|\bany\s+(?:other\s+)?questions\b|\byou(?:['’]re|\s+are)\s+welcome\b"
        r"|\breach\s+out\s+to\s+(?:me|us)\b|\bget\s+back\s+to\s+(?:me|us|you)\b|\bthank(?:s|\s+you)\s+for\s+\w+",
        "words to the user",
    ),
    (
        r"\bas\s+an?\s+(?:\w+\s+){0,3}(?:ai|a\.i\.|language\s+model|llm|assistant|chatbot)\b"
        r"|\b(?:i['’]m|i\s+am)\s+(?:just\s+|only\s+)?an?\s+(?:\w+\s+){0,3}(?:ai|language\s+model|llm|assistant|chatbot|bot|model|program)\b"
        r"|\bmy\s+(?:knowledge|training|data|programming|capabilities|instructions|guidelines|purpose|role|system|developers?|cutoff)\b"
        r"|\blanguage\s+models?\b",
        "words of a model about itself",
    ),
    (
        r"\[\s*(?:in)?complete\s*\]|\[\s*(?:ok|good|bad|missing|faulty|(?:un)?supported|contradictory|invented|subjective|unverifiable)\s*\]",
        "a mark of the critique",
    ),
    (r"(?<![\w./-])\d{1,3}\s*/\s*(?:5|10|100)\b(?![/\w])|\b(?:rating|score|grade)\s*(?:is|of|[:=])\s*\d", "a rating"),
    (rf"\A\W*{_LABEL}\s*[\])*_]{{0,3}}\s*[:：]", "a label"),
    (r"\A\s*\[[^\[\]\n]{3,400}\][.!]?\s*\Z", "a remark in brackets"),
    (rf"\A\s*[\[(*_]+\s*(?:note|edit|added|removed|changed|end|{_WORKED})\b", "a remark in brackets"),
    (rf"\A\W*end\s+of\s+(?:the\s+)?{_META}\b", "words about the rewrite"),
    (r"\A\W*(?:dear|hi|hello|hey)\s+\w+\s*[,!]", "words to the user"),
    (
        r"\b(?:new|updated|real|actual|your)\s+(?:instructions?|prompts?|directives?|commands?|orders)\b"
        r"|\b(?:previous|prior|above|earlier|preceding|system|developer|hidden|secret|initial|original|foregoing)\s+(?:\w+\s+){0,2}?"
        r"(?:instructions?|prompts?|directions?|directives?|commands?|messages?|guidelines|constraints)\b|\bsystem\s+(?:override|prompt|note)\b",
        "words about instructions",
    ),
    (
        r"\b(?:assistant|language\s+model|ai(?:\s+model|\s+system)?|evaluator|grader|reviewer|detector|bot|llm|chatbot|reader)s?"
        r"(?:\s+(?:who|that|which|reading|processing|judging)(?:\s+\w+){1,5})?"
        r"\s+(?:must|should|shall|is\s+to|are\s+to|has\s+to|have\s+to|needs?\s+to|will\s+now)\b",
        "words to a model",
    ),
)
RULES = tuple((re.compile(pattern, re.IGNORECASE), what) for pattern, what in _SOURCES)
"""Patterns of talk within a sentence, and what each is."""
