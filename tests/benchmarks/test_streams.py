"""Streams as recipes: which images come when."""

from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import (
    Benchmark,
    Entry,
    StreamBenchmark,
    find_corruptions,
    is_stream,
    list_streams,
    load_benchmark,
    load_stream_benchmark,
)
from tests.errors import naming

LABELS = np.repeat(np.arange(5), 40)
WINTER = Benchmark("winter", (Entry("snow", (1, 2, 3)), Entry("frost", (1, 3))))


def test_the_published_continual_order() -> None:
    titles = [cell.title for cell in load_stream_benchmark("cifar10-c-continual").segments()]
    names = "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog"
    names += " brightness contrast elastic_transform pixelate jpeg_compression"
    assert titles == [f"{name} 5" for name in names.split()]


def test_gradual_streams_go_up_and_down() -> None:
    levels = [cell.title for cell in StreamBenchmark(WINTER, "gradual").segments()]
    assert levels == ["snow 1", "snow 2", "snow 3", "snow 2", "snow 1", "frost 1", "frost 3", "frost 1"]
    assert len(load_stream_benchmark("cifar10-c-gradual").segments()) == 15 * 9


@pytest.mark.parametrize("labels", ["shuffled", "correlated"])
@pytest.mark.parametrize("order", ["continual", "gradual", "mixed"])
def test_every_image_comes_once_in_each_visit(order: str, labels: str) -> None:
    stream = StreamBenchmark(WINTER, order, labels, batch_size=33)
    batches = stream.batches(LABELS)
    assert all(len(batch.images) <= 33 for batch in batches)
    seen: dict[tuple[int, int], list[int]] = {}
    for batch in batches:
        for cell, image in zip(batch.cells.tolist(), batch.images.tolist(), strict=True):
            seen.setdefault((batch.segment, cell), []).append(image)
    assert len(seen) == {"continual": 5, "gradual": 8, "mixed": 5}[order]
    assert all(sorted(images) == list(range(200)) for images in seen.values())
    assert [batch.segment for batch in batches] == sorted(batch.segment for batch in batches)
    again = stream.batches(LABELS)
    assert all(np.array_equal(a.images, b.images) for a, b in zip(batches, again, strict=True))
    if order == "mixed":
        assert len(set(batches[0].cells.tolist())) > 1


def test_correlated_labels_come_in_clusters() -> None:
    def classes(labels: str, concentration: float = 0.1) -> float:
        stream = StreamBenchmark(WINTER, labels=labels, concentration=concentration, batch_size=20)
        return float(np.mean([len(set(LABELS[batch.images].tolist())) for batch in stream.batches(LABELS)]))

    assert classes("correlated") < classes("correlated", 1) < classes("shuffled")
    assert classes("correlated", 1e5) > 4.5  # as good as shuffled


def test_another_seed_is_another_order() -> None:
    stream = StreamBenchmark(WINTER)
    first, second = (one.batches(LABELS)[0].images for one in (stream, stream.cut(seed=1)))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, stream.batches(LABELS)[2].images)  # nor is that of the next segment the same


@pytest.mark.parametrize("name", list_streams())
def test_bundled_streams_survive_a_file(name: str, tmp_path: Path) -> None:
    stream = load_stream_benchmark(name)
    stream.save(tmp_path / "mine.toml")
    again = StreamBenchmark.load(tmp_path / "mine.toml")
    assert again == stream
    assert again.hash == stream.hash
    assert is_stream(tmp_path / "mine.toml")
    assert stream.name == name
    assert not is_stream("cifar10-c")


def test_a_changed_stream_has_another_name_and_hash() -> None:
    stream = load_stream_benchmark("cifar10-c-continual")
    assert stream.cut(batch_size=200) == stream
    changed = [stream.cut(batch_size=64), stream.cut(seed=1), stream.cut(["fog"]), stream.cut(severities=[3])]
    changed.append(stream.cut(["snow"]).cut(batch_size=64))
    assert {one.name for one in changed} == {"cifar10-c-continual-custom"}
    assert len({one.hash for one in [stream, *changed]}) == 6


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"order": "sideways"}, ("sideways", "continual", "gradual", "mixed")),
        ({"labels": "sorted"}, ("sorted", "shuffled", "correlated")),
        ({"reset": "never"}, ("never", "start", "segment")),
        ({"batch_size": 0}, ("batch_size", 0)),
        ({"concentration": -1.0}, ("concentration", -1.0)),
    ],
)
def test_bad_streams_are_refused(given: dict[str, object], named: tuple[object, ...]) -> None:
    with pytest.raises(BrittleError, match=naming(*named)):
        StreamBenchmark(WINTER, **given)  # type: ignore[arg-type]


def test_bad_recipes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BrittleError, match="gradual"):
        StreamBenchmark(Benchmark("one", (Entry("snow", (1,)),)), "gradual")
    with pytest.raises(BrittleError, match=naming("cifar10-c-continual")):
        load_stream_benchmark("cifar10-c-continuous")
    file = tmp_path / "winter.toml"
    file.write_text('name = "w"\nlevels = [1]\n[stream]\nspeed = 3\n[[corruption]]\nid = "snow"\n')
    with pytest.raises(BrittleError, match=naming("speed", "order")):
        StreamBenchmark.load(file)
    WINTER.save(file)
    with pytest.raises(BrittleError, match=r"\[stream\]"):
        StreamBenchmark.load(file)


def test_a_stream_is_named_where_a_benchmark_is_wanted() -> None:
    with pytest.raises(BrittleError, match="cifar10-c-continual' is a stream"):
        load_benchmark("cifar10-c-continual")
    with pytest.raises(BrittleError, match="did you mean 'cifar10-c-continual'"):
        load_benchmark("cifar10-c-contnual")
    members = [entry.corruption for entry in load_stream_benchmark("cifar10-c-continual").benchmark.entries]
    assert find_corruptions(benchmark="cifar10-c-continual") == members
