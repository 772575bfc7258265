"""Closed classes of English words that decide about relations."""

from __future__ import annotations

__all__ = [
    "BE",
    "FIXED",
    "GET",
    "HAVE_DO",
    "INTERROGATIVE",
    "OBJECT_CONTROL",
    "POSTMODIFYING",
    "SUBORDINATORS",
    "TIME",
]

BE = frozenset("be am is are was were been being 's 're 'm ’s ’re ’m ai m s re".split())
HAVE_DO = frozenset("have has had having 've 'd ’ve ’d do does did doing done ve d".split())
GET = frozenset("get gets got gotten getting".split())
SUBORDINATORS = frozenset(
    "because although though while since unless until till after before as once whereas lest in so if "
    "provided than for except whilst cause cuz 'cause with without by upon of on at like but albeit".split()
)
"""Words that begin adverbial clauses."""
INTERROGATIVE = frozenset(
    "wonder wondered ask asked asks asking know knows knew sure see determine doubt decide question unclear check unsure".split()
)
"""Words after which "if" begins a question."""
OBJECT_CONTROL = frozenset(
    "ask tell allow force want let make help enable cause order teach persuade encourage expect get permit "
    "require urge advise invite lead convince remind instruct beg dare warn challenge compel inspire".split()
)
TIME = frozenset(
    "today tomorrow yesterday tonight day days week weeks month months year years hour hours minute minutes "
    "second seconds time times morning evening afternoon night monday tuesday wednesday thursday friday saturday "
    "sunday january february march april may june july august september october november december summer "
    "winter spring autumn fall weekend moment decade decades century centuries way bit once".split()
)
POSTMODIFYING = frozenset({"ADJP", "RRC", "S", "FRAG"})
MONTHS = frozenset(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec jan. feb. mar. apr. aug. sep. sept. oct. nov. dec.".split()
)
TITLES = frozenset("mr mrs ms dr prof professor president st sir captain judge justice senator miss".split())
"""Titles before names, without a full stop."""
PLACES = frozenset(
    "university city act cup center centre festival station foundation airport museum news school party "
    "council bridge hotel hall institute plan war award series park program magazine prize department church "
    "union island islands office road river turnpike association awards house times street court springs "
    "square mosque trail agency administration olympics stadium college county coast conference building base "
    "post authority policy avenue bureau lab studies lodge cemetery game academy archive league commons "
    "district force reserve heritage castle club army inc inc. corp corp. co co. ltd ltd. group bank company "
    "sea ocean lake mountain mountains valley state states kingdom republic congress senate committee "
    "commission society journal project system network day market exchange york jersey zealand hampshire "
    "mexico orleans korea america africa carolina dakota virginia asia europe germany angeles francisco diego "
    "delhi kong union project week bill code treaty committee board press theatre theater library tower".split()
)
"""Last words of names that are not persons, and that the words before modify."""
NOT_PERSONS = frozenset(
    "new north south east west los san santa united great royal national the northern southern".split()
)
"""First words of names that are not persons."""
DISCOURSE = frozenset("well please yes no yeah okay ok oh like hey hello thanks".split())
FIXED: dict[str, tuple[tuple[str, ...], ...]] = {}
"""Fixed expressions by their first word, the longest first."""
for _expression in (
    "as well as|as well|such as|because of|rather than|instead of|of course|at least|at most|in order|due to|"
    "more than|less than|up to|as if|as though|kind of|sort of|so that|that is|in case|as to|how come|"
    "at all|per se|each other|one another|in between|all but|let alone|no longer|as opposed to|"
    "not to mention|so as|in that|given that|vice versa|prior to|next to|according to|in addition to|"
    "as long as|as soon as|even though|even if|as for|as of"
).split("|"):
    _words = tuple(_expression.split())
    FIXED[_words[0]] = tuple(sorted((*FIXED.get(_words[0], ()), _words), key=len, reverse=True))
