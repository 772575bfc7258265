from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeformers.metrics.calibration import expected_calibration_error, reliability


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.integers(1, 20))
def test_the_error_is_that_of_a_plain_count(rows: list[tuple[float, bool]], bins: int) -> None:
    expected = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [row for row in rows if low < row[0] <= high or (number == 0 and row[0] == 0)]
        expected += abs(sum(p for p, _ in inside) - sum(true for _, true in inside))
    probabilities, outcomes = [p for p, _ in rows], [true for _, true in rows]
    error = expected_calibration_error(probabilities, outcomes, bins)
    assert error == pytest.approx(100 * expected / len(rows))
    assert sum(row.predictions for row in reliability(probabilities, outcomes, bins)) == len(rows)
