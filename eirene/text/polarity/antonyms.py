"""Antonyms: a closed table of common English opposites, and prefixes and suffixes that turn a word into its opposite.

A line of the table has two poles; the words of a pole are close enough in meaning that each is an opposite of each word
of the other pole. Regular inflections follow from the stem, irregular ones are listed. General English, no data set.
"""

from __future__ import annotations

from functools import lru_cache

from eirene.text.words import stem

_TABLE = """
increase raise rise rose risen raised grow grew grown growth boost expand escalate multiply heighten higher highest |
    decrease reduce reduction lower lowest fall fell fallen decline diminish shrink shrank lessen dwindle drop cut
more most | less least fewer fewest
many numerous much | few little
high | low
better best | worse worst
good great excellent positive wonderful | bad poor terrible awful negative dreadful
improve improvement enhance better | worsen deteriorate degrade impair damage
strengthen reinforce bolster stronger | weaken undermine erode weaker
strong powerful robust | weak feeble powerless fragile
benefit help aid assist advantage helpful beneficial | harm hurt damage disadvantage harmful detrimental
help aid assist benefit support improve protect promote encourage enable strengthen foster advance allow enhance boost |
    harm hurt damage hinder hamper impede undermine weaken discourage prevent worsen threaten endanger hurt block
    impair ruin destroy
advantage upside pro merit | disadvantage drawback downside con demerit
protect safeguard defend preserve | endanger threaten attack destroy expose
safe secure harmless safer safest safety | dangerous unsafe risky hazardous harmful danger riskier deadly
healthy health healthier | sick ill unhealthy illness disease
support favour favor advocate endorse back promote | oppose reject resist object condemn denounce
supporter proponent advocate defender ally | opponent critic detractor adversary enemy
for | against
pro | anti con
agree agreement accept consent | disagree disagreement refuse reject dissent
allow permit let legalize legalise authorize authorise enable | ban prohibit forbid outlaw prevent forbade forbidden
    criminalize criminalise disallow bar
legal lawful legitimate | illegal unlawful illegitimate criminal
encourage promote foster stimulate incentivize motivate | discourage deter suppress hinder inhibit demotivate
cause create produce generate trigger provoke lead led | prevent avoid stop avert eliminate stave
start begin began begun commence launch open | stop end cease finish close halt terminate
beginning start onset | end ending finish
continue persist keep | stop cease quit end
first | last
win won victory winner | lose lost defeat loser loss
gain acquire obtain earn | lose lost forfeit loss
profit profitable | loss unprofitable
succeed success successful pass | fail failure unsuccessful failed
accept accepted approve approval | reject decline refuse disapprove rejection refusal
include inclusion inclusive | exclude exclusion exclusive
add addition added | remove removal subtract delete
build built construct create | destroy demolish ruin dismantle
give gave given | take took taken
give gave given | receive
buy bought purchase | sell sold
lend lent | borrow
teach taught | learn learnt
send sent | receive
arrive arrival come came | leave left depart departure go went
enter entry | exit leave left
before prior earlier precede preceding | after later following afterwards follow
early earlier earliest | late later latest
past former previous | future upcoming
old older oldest ancient | new newer newest modern recent
old older elderly | young younger youngest
left | right
up upward upwards | down downward downwards
above over top upper | below under beneath underneath bottom lower
inside within in indoor indoors internal inner interior | outside out outdoor outdoors external outer exterior
front ahead | back behind
near close nearby nearer closer | far distant remote farther further
north northern | south southern
east eastern | west western
to | from
on | off
forward forwards | backward backwards
advance progress | retreat regress setback
big large larger largest bigger biggest huge great major vast | small smaller smallest little tiny minor
long longer longest lengthy | short shorter shortest brief
tall taller | short shorter
wide wider broad broader | narrow narrower
deep deeper | shallow
thick thicker | thin thinner
heavy heavier | light lighter
fast faster quick quicker rapid swift | slow slower sluggish
accelerate hasten speed | slow decelerate delay
hot warm hotter warmer heat | cold cool colder cooler chill
wet | dry
light bright lighter brighter | dark dim darker
hard difficult harder | easy simple easier
hard | soft
tight | loose
full | empty
rich wealthy affluent richer wealthier wealth rich | poor impoverished poorer poverty destitute
expensive costly dear costlier | cheap inexpensive affordable cheaper
public | private
common frequent widespread usual | rare uncommon unusual scarce
abundant plentiful abundance | scarce scarcity shortage
present presence | absent absence
presence | lack absence
possible feasible | impossible infeasible
likely probable | unlikely improbable
certain sure definite | uncertain unsure doubtful
true correct right accurate valid | false wrong incorrect untrue inaccurate invalid mistaken
right moral ethical | wrong immoral unethical
right | wrong
fair just equitable | unfair unjust inequitable
justice fairness | injustice unfairness
equal equality same | unequal inequality different
similar alike similarity | different dissimilar unlike difference
necessary essential needed required crucial | unnecessary needless superfluous optional inessential
mandatory compulsory obligatory | voluntary optional
important significant crucial vital relevant | unimportant insignificant trivial irrelevant negligible
useful valuable useful | useless worthless
effective efficient effectiveness | ineffective inefficient ineffectiveness
reliable dependable trustworthy | unreliable untrustworthy
responsible | irresponsible
free freedom liberty | captive slavery captivity
freedom liberty | oppression tyranny restriction
free freely | restricted forced
liberate release free freed | imprison detain arrest confine restrict
democracy democratic | dictatorship authoritarian autocratic tyranny
peace peaceful | war violent violence conflict
friend friendly ally | enemy hostile foe
love like loved admire | hate dislike hated despise
trust | distrust mistrust suspect
happy happiness glad joyful pleased happier joy | unhappy sad sadness miserable sorrow depressed unhappier
calm relaxed | anxious nervous stressed agitated
confident | insecure doubtful
brave courage courageous | cowardly coward cowardice timid
hope hopeful optimistic optimism | despair hopeless pessimistic pessimism
praise | blame criticize criticise condemn
reward | punish penalty punishment
innocent innocence | guilty guilt
acquit acquitted | convict convicted
honest honesty sincere truthful | dishonest dishonesty deceitful lying
legalization legalisation | prohibition criminalization criminalisation
respect respectful | disrespect contempt
kind kind gentle | cruel harsh brutal
humane | inhumane cruel
clean pure cleaner | dirty polluted contaminated dirtier pollution
natural | artificial unnatural synthetic
real genuine authentic | fake bogus imaginary counterfeit
active | passive inactive
alive live living survive survival life | dead die died death dying
born birth | died death
male man men boy husband father son brother king | female woman women girl wife mother daughter sister queen
parent parents | child children
host | guest
teacher teachers | student students pupil pupils
employer employers | employee employees
attack offensive | defend defense defence defensive
wake awake woke awakened | sleep asleep slept
stand stood standing | sit sat seated sitting
push | pull
rise rose ascend climb upwards | descend fall fell sink sank
open opened | close closed shut
remember recall | forget forgot forgotten
find found discover | lose lost miss
save saved | waste squander
save saved | spend spent
rescue save | abandon kill killed
create | destroy
unite unity united unify join | divide division divided separate split
connect connected attach | disconnect disconnected detach
combine merge | separate split
together | apart alone
majority | minority
maximum maximal maximize maximise | minimum minimal minimize minimise
best | worst
always constantly | never
often frequently usually | rarely seldom
everyone everybody | nobody
everything | nothing
everywhere | nowhere
all every | none
both | neither
with | without
yes | no
superior | inferior
senior | junior
domestic national | foreign
urban city | rural countryside
local | global
central | peripheral
temporary | permanent
stable stability steady | unstable instability volatile
flexible | rigid inflexible
tolerant tolerance | intolerant intolerance
tolerate | persecute
attract attractive appealing | repel unattractive deter repulsive
beautiful pretty | ugly
clever smart intelligent wise | stupid foolish unwise dumb
sane rational reasonable sensible | insane irrational unreasonable absurd
knowledge aware awareness | ignorance unaware ignorant
experienced expert | inexperienced novice
known familiar | unknown unfamiliar
visible appear | invisible disappear vanish
reveal disclose expose show | hide hid hidden conceal
simple | complex complicated
clear obvious | unclear vague obscure ambiguous
general | specific particular
abstract | concrete
theory theoretical | practice practical
objective neutral impartial unbiased | subjective biased partial prejudiced
literal | figurative
positive positively | negative negatively
surplus | deficit shortage
credit | debit
import imports | export exports
supply | demand
inflation inflationary | deflation
employment employed employ hire hired | unemployment unemployed fire fired dismiss dismissed
tax | subsidy subsidize subsidise
victim victims | offender perpetrator perpetrators culprit
guilty | innocent
ally allied | rival
increase increased upturn | downturn
sufficient enough adequate ample | insufficient inadequate
exist existence | vanish extinct extinction
solve resolve solution | problem cause worsen
ease alleviate relieve mitigate calm soothe | aggravate exacerbate intensify worsen
simplify facilitate ease | complicate hinder hamper impede obstruct
empower enable | disempower disable
respect obey comply | violate disobey breach break infringe
uphold | violate overturn
affirm confirm verify | deny refute disprove deny contradict
prove proved proven | disprove disproved refute refuted
admit | deny
acknowledge recognize recognise | ignore overlook neglect
satisfied satisfy content | dissatisfied discontent frustrated
attention focus | neglect
care | neglect
comfortable comfort | uncomfortable discomfort painful
pleasure pleasant enjoyable | pain unpleasant painful
lucky fortunate fortunately luckily | unlucky unfortunate unfortunately sadly
blessing | curse
hero | villain
cheap | expensive
asset | liability burden
opportunity | threat obstacle
strength | weakness
heaven | hell
day | night
pleased delighted | miserable upset displeased
amateur | professional
tiny little small | giant big huge enormous
morning | evening
summer | winter
black | white
single unmarried | married
monogamous | polygamous
vegetarian vegan | carnivore meat
religious believer | secular atheist atheistic
liberal progressive | conservative
capitalist capitalism | socialist socialism communist communism
human | animal inhuman
ancestor | descendant
predecessor | successor
plaintiff prosecution | defendant defence
inhale | exhale
import | export
immigration immigrant immigrate | emigration emigrant emigrate
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti")
# What is left of these without their first letters is a word, and no opposite.
_NO_OPPOSITES = _words(
    """come form port prove press side vest crease tend play cover pose deed pact stance tent fringe flame charge count
    course stress prison sure quest flow land put take sight vent part test scribe sign fine mand pend serve sire
    bate fault gree lay light posit rive tail grade fence cent ally duce ease till der ion it its able age habit
    fluence still struct volve voke door pulse plant sult crete crimin fect fection mission"""
)
_LONGEST = 30
"""Characters of a word; longer ones are no words."""


def _parsed() -> dict[str, tuple[tuple[int, int], ...]]:
    found: dict[str, list[tuple[int, int]]] = {}
    lines = _TABLE.replace("\n    ", " ").strip().splitlines()
    for number, line in enumerate(lines):
        for pole, words in enumerate(line.split("|")):
            for word in dict.fromkeys(stem(w) for w in words.split()):
                found.setdefault(word, []).append((number, pole))
    return {word: tuple(places) for word, places in found.items()}


@lru_cache(maxsize=1)
def _poles() -> dict[str, tuple[tuple[int, int], ...]]:
    """The lines that a stem stands in, each with its pole (0 or 1)."""
    return _parsed()


def poles_of(word_stem: str) -> tuple[tuple[int, int], ...]:
    """The places of a stem (`eirene.text.words.stem`) in the table: lines, each with its pole (0 or 1)."""
    return _poles().get(word_stem, ())


@lru_cache(maxsize=8192)
def turned_stems(word: str) -> tuple[str, ...]:
    """The stems of the words that a word (lower case) turns by a prefix or suffix: of "useless" that of "useful"."""
    if len(word) > _LONGEST:
        return ()
    found = [word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix)]
    if word.endswith("less"):
        found.append(word[:-4] + "ful")
    return tuple(stem(w) for w in found if len(w) > 3 and w not in _NO_OPPOSITES and stem(w) not in _NO_OPPOSITES)


def are_opposites(one: str, other: str) -> bool:
    """Whether two words (lower case) are opposites: by the table, or by a prefix or suffix of one of them."""
    first, second = stem(one), stem(other)
    if first == second and not (one + other).count("less"):
        return False
    places = poles_of(second)
    by_table = bool(places) and any((line, 1 - pole) in places for line, pole in poles_of(first))
    return by_table or second in turned_stems(one) or first in turned_stems(other)
