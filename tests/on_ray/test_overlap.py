"""The models of an overlap matrix, made by the workers of a cluster."""

from pathlib import Path

from brittle.design import Plan, accuracy_table, measure_overlap
from tests.design.test_measure_overlap import CANDIDATES, QUICK, TEST, TRAINING


def test_workers_make_the_models_and_nothing_is_made_twice(tmp_path: Path) -> None:
    plan, messages = Plan("scratch", "small:4", standard=QUICK), []

    def listen(what: str, _done: int, _total: int) -> None:
        messages.append(what)

    results = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan, engine="ray", progress=listen)
    assert {"trained noc/brightness", "trained noc/hue"} <= set(messages)
    table = accuracy_table(results, CANDIDATES)
    assert table[0, 0] > 0.9
    assert table[2, 2] > table[0, 2]
    messages.clear()
    again = measure_overlap(TRAINING, TEST, CANDIDATES, tmp_path, plan, progress=listen)
    assert (accuracy_table(again, CANDIDATES) == table).all()
    assert not any(what.startswith("train") for what in messages)
