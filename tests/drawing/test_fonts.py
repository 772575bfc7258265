"""Fonts of pictures that matplotlib draws."""

from __future__ import annotations

import pytest

from treeformers.drawing import fonts
from treeformers.drawing.fonts import fonts_for


def test_fonts_have_every_character_or_are_named() -> None:
    assert fonts_for("dog caf\u0301\u00e9 \u2068\u05d9\u05dc\u05d3\u2069") == fonts_for("")
    with pytest.raises(ValueError, match=r"no installed font has .* \(U\+12000\): install a font such as"):
        fonts_for("a \U00012000")


@pytest.mark.parametrize(
    ("character", "font"),
    [("你", "CJK"), ("한", "CJK"), ("か", "CJK"), ("ต", "Thai"), ("\U0001f600", "Emoji")],
)
def test_missing_font(character: str, font: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_missing", lambda text, path: [char for char in text if ord(char) > 0x0DFF])
    with pytest.raises(
        ValueError, match=rf"no installed font has {character} \(U\+[0-9A-F]+\): .* Noto .*{font}"
    ):
        fonts_for(f"a {character}")


def test_right_to_left_needs_a_recent_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_BIDI_VERSION", (99, 0))
    assert fonts_for("dog")
    with pytest.raises(ValueError, match=r"cannot draw right-to-left words: expected matplotlib 3\.11"):
        fonts_for("ילד")
