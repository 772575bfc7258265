"""Read a pattern in the language of Tregex (Levy and Andrew 2006)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import regex

from treeformers.query.syntax import All, Any, Description, Formula, Maybe, Node, Not, Relation, Step

__all__ = ["PatternError", "read_pattern"]

MAX_NESTING = 100
"""Maximum number of open brackets, and of "!" and "?" before one relation."""

_RELATION = re.compile(
    r"""(?P<leaf><<<)(?P<place>-?\d+)?
    | (?P<exact><\.\.\.)
    | (?P<through>[<>.,]\+)(?=\s*\()
    | (?P<child>[<>])(?P<number>-?\d+)
    | (?P<plain>(?:<<|>>)[-,#:`]? | <= | [<>][-,#:`]? | \$(?:\+\+|--|\.\.|,,|[-+.,])? | \.\.? | ,,? | ==)""",
    re.VERBOSE,
)
_SYNONYMS = {
    **{"<`": "<-", ">`": ">-", "<<`": "<<-", ">>`": ">>-"},
    **{"$..": "$++", "$,,": "$--", "$.": "$+", "$,": "$-"},
}
_LABEL = re.compile(
    r"(?:PRP|WP)\$(?=[\s|)=]|$)"  # the only tags of the Penn Treebank that hold a symbol after letters
    r"|(?:\\.|[^\s(/|@!#&)=?\[\]<>~_.,$:{};%\"`\\])(?:\\.|[^\s(/|@!#&)=?\[\]<>~.,$:{};%\"\\])*"
)
_REGEX = re.compile(r"/((?:\\.|[^/\\])*)/(i?)(?!\w)")
_QUOTED = re.compile(r'"((?:\\.|[^"\\])*)"')
_NAME = re.compile(r"\w+")
_GROUP = re.compile(r"#(\d+)%(\w+)")


class PatternError(ValueError):
    """A pattern is malformed. The message shows the place with a caret.

    Attributes:
        reason: the first line of the message.
        column: the character at fault, from 1.
    """

    def __init__(self, text: str, reason: str, column: int) -> None:
        # Spaces keep the pattern on one line, and the caret below its place.
        line = "".join(" " if letter.isspace() else letter for letter in text)
        self.reason = f"pattern, column {column}: {reason}"
        self.column = column
        super().__init__(f"{self.reason}\n  {line}\n  {' ' * (column - 1)}^")


def read_pattern(text: str) -> Node:
    """Read a pattern.

    Raises:
        PatternError: the pattern is malformed, or uses a name that nothing before it binds. A caret in the
            second line of the message marks the place.
    """
    return _Reader(text).pattern()


class _Reader:
    """Reads from left to right.

    Attributes:
        place: the next character.
        bound: the names of nodes and variables that are bound so far.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.bound: set[str] = set()
        self.open = 0

    def pattern(self) -> Node:
        """Segments that colons separate. Each later segment may match anywhere in the same tree."""
        first = self.node()
        parts = [] if first.formula is None else [first.formula]
        while self.take(":"):
            parts.append(Step(Relation(":"), self.node()))
        self.skip()
        if self.place < len(self.text):
            raise self.error("an opening bracket before" if self.text[self.place] in ")]}" else "a relation")
        return Node(first.description, first.name, _joined(All, parts))

    def node(self) -> Node:
        """A description with relations. Brackets around it change nothing."""
        if not self.take("("):
            description, name = self.described()
            return Node(description, name, self.relations())
        inner = self.bracketed()
        if (more := self.relations()) is None:
            return inner
        parts = [more] if inner.formula is None else [inner.formula, more]
        return Node(inner.description, inner.name, _joined(All, parts))

    def bracketed(self) -> Node:
        """The rest of a node after its opening bracket."""
        self.enter()
        node = self.node()
        self.expect(")", "a relation or a closing bracket")
        return node

    def relations(self) -> Formula | None:
        """Alternatives of conjunctions. None if there is no relation."""
        if not self.at_relation():
            return None
        before = set(self.bound)
        after = set(before)
        alternatives = []
        while True:
            self.bound = set(before)
            alternatives.append(self.conjunction())
            after |= self.bound
            if not self.take("|"):
                break
        self.bound = after
        return _joined(Any, alternatives)

    def conjunction(self) -> Formula:
        parts = [self.relation()]
        while (joined := self.take("&")) or self.at_relation():
            if joined and not self.at_relation():
                raise self.error("a relation")
            parts.append(self.relation())
        formula = _joined(All, parts)
        assert formula is not None
        return formula

    def relation(self) -> Formula:
        if self.take("!"):
            before = set(self.bound)
            part = Not(self.nested_relation())
            self.bound = before  # no node that must be absent has a name outside
            return part
        if self.take("?"):
            return Maybe(self.nested_relation())
        if self.take("["):
            self.enter()
            formula = self.relations()
            if formula is None:
                raise self.error("a relation")
            self.expect("]", "a relation or a closing square bracket")
            return formula
        found = self.match(_RELATION)
        if found is None:
            raise self.error("a relation")
        if found["exact"]:
            return self.exact_children()
        number = found["number"] or found["place"] or ""
        if number and int(number) == 0:
            raise self.error("a number other than 0", found.start())
        symbol = found["leaf"] or found["through"] or found["child"] or found["plain"]
        through = None
        if found["through"]:
            self.expect("(", "an opening bracket")
            through, name = self.described()
            if name or through.same_node or through.same_label or through.variable or through.groups:
                raise self.error("a description without names")
            self.expect(")", "a closing bracket")
        relation = Relation(_SYNONYMS.get(symbol, symbol), int(number or 0), through)
        return Step(relation, self.target())

    def nested_relation(self) -> Formula:
        """The relation after a "!" or a "?"."""
        self.enter()
        formula = self.relation()
        self.open -= 1
        return formula

    def exact_children(self) -> Formula:
        """Exactly these children: one a place, and none after them."""
        self.expect("{", "an opening brace")
        parts: list[Formula] = []
        while True:
            parts.append(Step(Relation("<", len(parts) + 1), self.target()))
            if not self.take(";"):
                break
        self.expect("}", "a semicolon or a closing brace")
        parts.append(Not(Step(Relation("<", len(parts) + 1), Node(Description()))))
        return All(tuple(parts))

    def target(self) -> Node:
        """The other node of a relation. Its own relations stand in brackets."""
        if self.take("("):
            return self.bracketed()
        return Node(*self.described())

    def described(self) -> tuple[Description, str]:
        """A description and the name of the node."""
        self.skip()
        if found := re.compile(r"=(\w+)|~(\w+)|%(\w+)").match(self.text, self.place):
            self.need_bound(found[found.lastindex or 0], found.start())
            self.place = found.end()
            node, label, variable = (text or "" for text in found.groups())
            return Description(same_node=node, same_label=label, variable=variable), ""
        negated, basic = self.take("!"), self.take("@")
        labels, regexes = self.alternatives()
        groups = []
        while found := self.match(_GROUP, skip=False):
            if not regexes or labels or negated:
                raise self.error("a regular expression before a group", found.start())
            if not 0 < int(found[1]) <= min(one.groups for one in regexes):
                raise self.error("the number of a group of the regular expression", found.start() + 1)
            groups.append((int(found[1]), found[2]))
            self.bound.add(found[2])
        name = ""
        if self.text.startswith("=", self.place) and not self.text.startswith("==", self.place):
            self.place += 1
            found = self.match(_NAME, skip=False)
            if found is None:
                raise self.error("a name")
            name = found[0]
            self.bound.add(name)
        return Description(frozenset(labels), tuple(regexes), negated, basic, tuple(groups)), name

    def alternatives(self) -> tuple[list[str], list[regex.Pattern[str]]]:
        """Labels and expressions with "|" between them. "__" stands for any label."""
        labels: list[str] = []
        regexes: list[regex.Pattern[str]] = []
        self.skip()
        if self.text.startswith("__", self.place):
            self.place += 2
            return labels, regexes
        while True:
            self.skip()
            if found := self.match(_REGEX):
                regexes.append(self.compiled(found))
            elif found := self.match(_QUOTED):
                labels.append(_unescaped(found[1]))
            elif found := self.match(_LABEL):
                labels.append(_unescaped(found[0]))
            else:
                raise self.error('a label, /a regular expression/, "a quoted label" or __')
            before = self.place
            if not (self.take("|") and self.at_label()):
                self.place = before
                return labels, regexes

    def compiled(self, found: re.Match[str]) -> regex.Pattern[str]:
        source = found[1].replace(r"\/", "/")
        try:
            return regex.compile(source, regex.IGNORECASE if found[2] else 0)
        except regex.error as error:
            place = found.start(1) + (error.pos or 0)
            raise self.error(f"a regular expression ({error.msg})", place) from None

    def need_bound(self, name: str, place: int) -> None:
        if name not in self.bound:
            raise self.error(f"a name that is bound before this place, {name} is not", place)

    def at_relation(self) -> bool:
        self.skip()
        return self.text[self.place : self.place + 1] in tuple("!?[") or bool(
            _RELATION.match(self.text, self.place)
        )

    def at_label(self) -> bool:
        self.skip()
        return any(one.match(self.text, self.place) for one in (_REGEX, _QUOTED, _LABEL))

    def enter(self) -> None:
        self.open += 1
        if self.open > MAX_NESTING:
            raise self.error(f"at most {MAX_NESTING} brackets, ! and ? inside each other", self.place - 1)

    def skip(self) -> None:
        while self.text[self.place : self.place + 1].isspace():
            self.place += 1

    def match(self, expression: re.Pattern[str], skip: bool = True) -> re.Match[str] | None:
        if skip:
            self.skip()
        found = expression.match(self.text, self.place)
        if found:
            self.place = found.end()
        return found

    def take(self, symbol: str) -> bool:
        self.skip()
        found = self.text.startswith(symbol, self.place)
        self.place += len(symbol) * found
        return found

    def expect(self, symbol: str, expected: str) -> None:
        if not self.take(symbol):
            raise self.error(expected)
        self.open -= symbol in (")", "]")

    def error(self, expected: str, place: int | None = None) -> PatternError:
        place = self.place if place is None else place
        rest = self.text[place:].split()
        given = repr(rest[0][:20]) if rest else "the end"
        return PatternError(self.text, f"expected {expected}, got {given}", place + 1)


def _joined(kind: type[All] | type[Any], parts: Sequence[Formula]) -> Formula | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return kind(tuple(parts))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
