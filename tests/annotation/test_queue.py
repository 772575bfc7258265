"""Who gets which sentence next."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeformers.annotation import Project, import_text, next_sentence
from treeformers.annotation.queue import Order


def made(path: Path, sentences: int = 40, validation: int = 4) -> Project:
    project = Project.create(path, validation_size=validation)
    import_text(project, ["word " * (1 + 7 * n % sentences) for n in range(sentences)], "a.txt")
    return project


def handed_out(project: Project, order: Order, annotator: str = "Ann") -> list[int]:
    found = []
    while sentence := next_sentence(project, annotator, order):
        project.accept(sentence.id, annotator, sentence.revision)
        found.append(sentence.id)
    return found


@pytest.mark.parametrize("order", ["random", "length", "gain"])
def test_each_sentence_comes_once_and_one_in_five_is_for_validation(tmp_path: Path, order: Order) -> None:
    with made(tmp_path / "p") as project:
        gains = {id: (id * 11 % 37) / 37 for id in range(1, 30)}
        with project.database.write() as connection:
            connection.executemany(
                "UPDATE sentence SET gain = ? WHERE id = ?", [(gain, id) for id, gain in gains.items()]
            )
        length = {one.id: len(one.text) for one in project.listing(limit=100)}
        ids = handed_out(project, order)
        assert sorted(ids) == list(range(1, 41))
        validation = {one.id for one in project.listing(state="validation")}
        assert [place for place, id in enumerate(ids) if id in validation] == [0, 5, 10, 15]
        others = [id for id in ids if id not in validation]
        if order == "length":
            assert [length[id] for id in others] == sorted(length[id] for id in others)
        elif order == "gain":
            with_gain = [id for id in others if id in gains]
            assert others[: len(with_gain)] == sorted(with_gain, key=lambda id: -gains[id])
        else:
            assert others != sorted(others)


def test_skipped_sentences_wait(tmp_path: Path) -> None:
    with made(tmp_path / "p", 3, 0) as project:
        first = next_sentence(project, "Ann", "length")
        assert first is not None
        second = next_sentence(project, "Ann", "length", skip=[first.id])
        assert second is not None and second.id != first.id
        assert next_sentence(project, "Ann", "length", skip=[1, 2, 3]) is None
        with pytest.raises(ValueError, match="unknown order"):
            next_sentence(project, "Ann", "best")  # type: ignore[arg-type]


def test_two_annotators_share_the_work(tmp_path: Path) -> None:
    with made(tmp_path / "p", 10, 2) as project:
        first = next_sentence(project, "Ann")
        assert first is not None and next_sentence(project, "Ben") == first
        project.accept(first.id, "Ann", 0)
        second = next_sentence(project, "Ben")
        assert second is not None and second.id != first.id
        project.reopen(second.id, "Ben", 0)
        third = next_sentence(project, "Ann")
        assert third is not None and third.id not in (first.id, second.id)
        shared = next_sentence(project, "Ben", shared=True)
        assert shared is not None and shared.id == first.id and not shared.accepted
        project.accept(first.id, "Ben", shared.revision)
        assert next_sentence(project, "Ben", shared=True) is None


def test_the_queue_reads_an_index(tmp_path: Path) -> None:
    from treeformers.annotation.queue import _PENDING, ORDERS

    with made(tmp_path / "p") as project:
        for keys in ORDERS.values():
            plan = project.database.rows(f"EXPLAIN QUERY PLAN {_PENDING.format(keys=keys)}", 0, "[]", "Ann")
            assert not any("TEMP B-TREE" in row["detail"] for row in plan), [row["detail"] for row in plan]
