"""Raw text to the words of the Penn Treebank, with their places in the text.

The rules are those of the treebank's own tokeniser (MacIntyre 1995); what newspapers of 1989 did not hold (addresses,
mentions, emoticons, other scripts) stays whole, as in the English Web Treebank. One regular expression cuts the text.
Two things it cannot see are decided word by word: which way a quote faces, and whose a period is.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

__all__ = ["Word", "tokenize"]


class Word(NamedTuple):
    """A word as the treebank writes it, and the characters `start` to `end - 1` of the text that it stands for."""

    text: str
    start: int
    end: int


_PLAIN = str.maketrans(
    {
        **{bracket: f"-{name}-" for bracket, name in zip("()[]{}", "LRB RRB LSB RSB LCB RCB".split(), strict=True)},
        **dict.fromkeys("’‘‛ʼ´`", "'"),
        **dict.fromkeys("‐‑–", "-"),
        "\N{SOFT HYPHEN}": "",
        "\N{WORD JOINER}": "",
    }
)
"""How a treebank in plain ASCII writes brackets, apostrophes and hyphens."""

# fmt: off
_ABBREVIATIONS = frozenset("""
    Mr Mrs Ms Dr Drs Prof Rev Hon Sen Sens Rep Reps Gov Govs Gen Col Lt Capt Cmdr Sgt Cpl Maj Adm Pres Supt Messrs Mme Mmes Mlle St
    Mt Ft Jr Sr Fr Inc Corp Co Cos Ltd Bros Assn Assoc Dept Univ Pty Mfg Intl Natl Dist Jan Feb Mar Apr Jun Jul Aug Sep Sept
    Oct Nov Dec Mon Tue Tues Wed Thu Thur Thurs Fri Sat Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich
    Minn Miss Mo Mont Neb Nev Okla Ore Pa Tenn Tex Va Vt Wash Wis Wyo Ave Blvd Rd Hwy etc vs v al cf ca viz approx est
    dept jr sr inc corp ltd mr mrs dr prof ph
""".split())
_NUMBERED = frozenset("No Nos no nos Fig Figs fig figs Eq Eqs eq Sec sec Art art Ch ch Vol vol pp p Ref ref ext Op op b c d m".split())
"""Abbreviations only before a number: "No. 5", but "He said no."."""
# fmt: on

# Combining marks belong to the letter before them, and `\w` leaves them out. Joiners and soft hyphens count only
# between the letters of a word; elsewhere they are as invisible as the rest of the blanks.
_MARKS = "".join(mark for mark in map(chr, range(0x1F000)) if unicodedata.category(mark).startswith("M"))
_BLANK = r"\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
_W = rf"[\w{_MARKS}]"
_END = rf"(?!{_W})"
_ENDING = rf"(?i:n['’`´]t|(?<=\d)[ap]m){_END}"
_LETTERS = rf"(?:(?!{_ENDING})[\xad\u200c\u200d\u2060]*+{_W})++"
_ADDRESS = rf"(?:[^{_BLANK}<>\"“”()]|\([^{_BLANK}<>\"“”()]*+\))*"
_PICTURE = "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u231a-\u23ff\u203c\u2049]"
_MODIFIERS = "[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]*+"

_SCANNER = re.compile(
    rf"""
    (?P<blank> [{_BLANK}]++ )
  | (?P<whole>
        (?i: (?:https?|ftp)://(?={_W}) | www\.(?={_W}) | (?:[\w-]{{1,63}}+\.){{1,8}}(?:com|org|net|edu|gov|io)/ )
        {_ADDRESS} (?<![.,;:!?'’*\]}}…])
      | [\w.%+-]{{1,64}}+ @ (?:[\w-]{{1,63}}+\.){{1,8}} \w{{2,63}}
      | [@\#] \w*? [^\W\d_] \w*+
      | -[LR][RSC]B-
      | (?: [:;]['’]?[-o^]? | (?<!{_W})=-? ) (?: (?:[()]++|(?:-[LR]RB-)++){_END} | [DPpOo/\\|*](?![\w/*]) )
      | </?3(?![\w.,]) | \^_+\^ | <?[-=]++> | <[-=]++ | [<>]= | \+/- | °[CF]{_END}
      | [\U0001f1e6-\U0001f1ff]{{2}}
      | {_PICTURE}{_MODIFIERS} (?: \u200d{_PICTURE}{_MODIFIERS} )*+
      | [A-Z]{{1,3}}\$
    )
  | (?P<open> ``|‘‘|[“„«‟] ) | (?P<close> [”»] ) | (?P<double> "|''|’’ )
  | (?P<clitic> (?i:
        ['’`´](?:s|m|d|re|ve|ll|t){_END} | {_ENDING}
      | ['’‘]t(?=(?:is|was){_END}) | [dy]['’](?=(?:ye|you|all){_END}|\s)
      | ['’‘](?:\d\ds?|em|til|cause|cuz|bout|round|nuff|n['’]?){_END}
      | can(?=not{_END}) | (?:gon|wan)(?=na{_END}) | (?:got|out|lot)(?=ta{_END}) | (?:gim|lem)(?=me{_END})
      | (?:do|does|did|is|was|are|were|have|has|had|could|would|should|ca|wo|ai)(?=nt{_END})
    ) )
  | (?P<dropped> (?i: \w{{2,}}?in | [od] | ol | lil | \d\d? )['’]{_END} )
  | (?P<single> ['’‘‚‛`´] )
  | (?P<word>
        (?: (?<![^{_BLANK}(\[{{$£€¥]) (?: [-+](?=\.?\d) | \.(?=[a-z]) ) | -(?={_W}) )? (?:\.(?=\d))?
        {_LETTERS}
        (?: (?: (?<=\d)[,:](?=\d) | (?:[%.+]|(?<=\d)['’])?(?:-|\\?[/&]) | [–‐‑@·] | \.(?!(?<=[a-z]{{2}}\.)[A-Z]) | \*++
              | ['’](?!(?i:s|m|d|re|ve|ll){_END}) )
            {_LETTERS} )*+
        (?: [-+]/[-+] | \+{{1,2}}{_END} | -(?=[{_BLANK}.,;:?!)"”]|\Z) )?
    )
  | (?P<dots> \.{{3}}(?=\.[{_BLANK}]*+\Z) | \.{{2,}}+ | …++ )
  | (?P<dash> --++ | [—―–]++ )
  | (?P<sign> [()\[\]{{}}] | [!?]++ | (?P<same>.)(?P=same)*+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_FORMS = {"open": "``", "close": "''", "dots": "...", "dash": "--"}
_CLOSES = re.compile(rf"[{_BLANK}.,;:?!)\]}}]|\Z")
_GOES_ON = re.compile(rf"\.(?:[,;:?!]|['’]s{_END})", re.IGNORECASE)
_BEFORE_NUMBER = re.compile(rf"\.[{_BLANK}]*+[\d#]")
_PERIOD = re.compile(r"\.(?!\.)")
_ENDS_TEXT = re.compile(rf"\.[{_BLANK}\"'’”»]*+\Z")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_OPENING = {"``", "`", "-LRB-", "-LSB-", "-LCB-", "--"}


def tokenize(text: str) -> list[Word]:
    """Cut a sentence into the words of the Penn Treebank.

    Double quotes become "``" and "''", brackets "-LRB-" to "-RCB-", curly apostrophes, dashes and dots plain ones;
    letters stay as typed. "don't", "cannot" and "dogs'" are two words each, "U.S.", "AT&T", "1,000" and
    "ten-year-old" one. Text that is tokenised already, joined by blanks, comes back as it was. Time is linear.

    The period that ends the text is a word of its own, as in the treebank, which then writes "Corp ." but "U.S. .":
    the text of such an acronym keeps its period, and the full stop has the character.

    Args:
        text: one sentence; several do no harm. Blanks are all white space, control characters, and characters
            without width.

    Returns:
        The words, in order. They cover every character but the blanks exactly once; none for an empty text.
    """
    words: list[Word] = []
    quoted = single_quoted = False
    position = 0
    while match := _SCANNER.match(text, position):
        start, position = match.span()
        kind = match.lastgroup
        if kind == "blank":
            continue
        begins = not words or words[-1].end < start or words[-1].text in _OPENING
        ends = _CLOSES.match(text, position) is not None
        form = text[start:position].translate(_PLAIN)
        if kind in _FORMS:
            form = _FORMS[kind]
            quoted = quoted if kind in ("dots", "dash") else kind == "open"
        elif kind == "double":
            quoted = begins and not ends or (begins == ends and form == '"' and not quoted)
            form = "``" if quoted else "''"
        elif kind == "single":
            single_quoted = begins and (not ends or text[start] in "`‘‚‛")
            form = "`" if single_quoted else "'"
        elif kind == "dropped" and single_quoted:
            position -= 1
            form = form[:-1]
        elif kind == "word" and _PERIOD.match(text, position):
            if _ENDS_TEXT.match(text, position):
                form += "." if _ACRONYM.fullmatch(form) else ""
            elif _keeps_period(form, text, position):
                form += "."
                position += 1
        words.append(Word(form, start, position))
    return words


def _keeps_period(word: str, text: str, position: int) -> bool:
    """Whether the period at `position`, inside a text, is part of the word before it."""
    if _GOES_ON.match(text, position):
        return True
    last = word.rpartition("-")[2]
    if last in _NUMBERED:
        return _BEFORE_NUMBER.match(text, position) is not None
    return (
        (len(last) == 1 and last.isupper())
        or _ACRONYM.fullmatch(last) is not None
        or (last.title() if last.isupper() else last) in _ABBREVIATIONS
    )
