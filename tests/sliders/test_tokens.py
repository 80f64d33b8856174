"""Class tokens: the published format, and new ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.datasets import Dataset, arrays
from brittle.sliders import (
    TEMPLATES,
    Base,
    ClassToken,
    Sampling,
    add_token,
    draw_trajectory,
    find_classes,
    load_token,
    load_tokens,
    save_tokens,
    train_token,
    train_tokens,
)
from tests.errors import naming
from tests.sliders import tiny_world

QUICK = {"steps": 5, "batch_size": 2}


@pytest.fixture(scope="module")
def learnt():
    pipeline = tiny_world.pipeline()
    before = {name: value.clone() for name, value in pipeline.text_encoder.state_dict().items()}
    return pipeline, before, train_token(pipeline, tiny_world.photos(), "heavy bag", 7, **QUICK)


def test_only_the_tokens_direction_is_learnt(learnt) -> None:
    pipeline, before, token = learnt
    assert token.text == "<heavy bag-7>"
    after = pipeline.text_encoder.state_dict()
    [table] = [name for name, value in before.items() if value.shape != after[name].shape]
    assert all(torch.equal(before[name], after[name]) for name in before if name != table)
    assert torch.equal(before[table], after[table][:-1])
    words = pipeline.tokenizer("heavy bag", add_special_tokens=False).input_ids
    assert len(words) == 2
    start = before[table][words].mean(0)
    assert torch.equal(after[table][-1], token.embedding)
    assert not torch.allclose(token.embedding, start)
    torch.testing.assert_close(token.embedding.norm(), start.norm())
    assert not any(hook for hook in pipeline.text_encoder.get_input_embeddings()._forward_hooks)


def test_the_same_call_gives_the_same_token_also_after_an_interruption(learnt, tmp_path: Path) -> None:
    def interrupt(done: int, *_) -> None:
        if done == 3:
            raise KeyboardInterrupt

    options = {**QUICK, "checkpoint": tmp_path / "state.pt", "checkpoint_every": 2}
    with pytest.raises(KeyboardInterrupt):
        train_token(tiny_world.pipeline(), tiny_world.photos(), "heavy bag", 7, **options, progress=interrupt)
    seen = []
    again = train_token(
        tiny_world.pipeline(), tiny_world.photos(), "heavy bag", 7, **options, progress=lambda *at: seen.append(at[0])
    )
    assert seen == [3, 4, 5]
    assert torch.equal(again.embedding, learnt[2].embedding)
    fresh = tiny_world.pipeline()
    for other, steps, values in (
        (tiny_world.photos()[::-1], 5, ("state.pt", "pixels")),
        (tiny_world.photos(), 3, ("state.pt", "5 steps", 3)),
    ):
        with pytest.raises(BrittleError, match=naming(*values)):
            train_token(fresh, other, "heavy bag", 7, **{**options, "steps": steps})
    assert "<heavy bag-7>" not in fresh.tokenizer.get_vocab()  # nothing was trained


def test_training_brings_the_token_nearer_to_the_pictures() -> None:
    pipeline = tiny_world.pipeline("epsilon")
    losses = []
    options = {"steps": 40, "batch_size": 4, "learning_rate": 5e-2, "templates": ["{}"]}
    train_token(pipeline, tiny_world.photos(1), "bag", 1, **options, progress=lambda *at: losses.append(at[2]))
    frozen = []
    options["learning_rate"] = 0.0
    train_token(pipeline, tiny_world.photos(1), "bag", 1, **options, progress=lambda *at: frozen.append(at[2]))
    assert sum(losses[20:]) < sum(frozen[20:])  # the same noise, step by step


def test_tokens_are_saved_and_loaded(learnt, tmp_path: Path) -> None:
    pipeline, _, token = learnt
    token.save(tmp_path / "bag.safetensors")
    again = load_token(tmp_path / "bag.safetensors")
    assert (again.text, again.initializer) == (token.text, "heavy bag")
    assert torch.equal(again.embedding, token.embedding)
    ours, theirs = tiny_world.pipeline(), tiny_world.pipeline()
    add_token(ours, again)
    theirs.load_textual_inversion(tmp_path / "bag.safetensors")
    prompt = "a photo of a <heavy bag-7>"
    expected = pipeline.encode_prompt(prompt, "cpu", 1, False)[0]
    for other in (ours, theirs):
        assert torch.equal(other.encode_prompt(prompt, "cpu", 1, False)[0], expected)


def test_the_published_folder(learnt, tmp_path: Path, slider) -> None:
    pipeline, _, token = learnt
    save_tokens(pipeline, tmp_path, [token, ClassToken("<sneaker-1>", token.embedding, "sneaker")])
    lists = torch.load(tmp_path / "tokens.pt", weights_only=True)
    assert lists == {"tokens": ["<heavy bag-7>", "<sneaker-1>"], "initializer_words": ["heavy bag", "sneaker"]}
    fresh = tiny_world.pipeline()
    assert load_tokens(fresh, tmp_path) == ("<heavy bag-7>", "<sneaker-1>")
    prompt = "a picture of a <heavy bag-7>"
    assert torch.equal(*(each.encode_prompt(prompt, "cpu", 1, False)[0] for each in (fresh, pipeline)))
    made = draw_trajectory(fresh, replace(slider, prompt="<heavy bag-7>"), [1.0], [1], sampling=Sampling(steps=2))
    assert made.shape == (1, 1, 16, 16, 3)
    (tmp_path / "text_encoder" / "model.safetensors").unlink()
    with pytest.raises(BrittleError, match=naming("text_encoder")):
        load_tokens(fresh, tmp_path)
    torch.save({"tokens": ["<nobody-3>"], "initializer_words": [""]}, tmp_path / "tokens.pt")
    with pytest.raises(BrittleError, match=naming(1, "<nobody-3>")):
        load_tokens(fresh, tmp_path)


def test_the_captions_are_the_27_published_ones() -> None:
    assert len(set(TEMPLATES)) == 27
    assert all(template.count("{}") == 1 for template in TEMPLATES)


@pytest.fixture
def base(tmp_path: Path) -> Base:
    tiny_world.pipeline().save_pretrained(tmp_path / "pipeline")
    return Base(str(tmp_path / "pipeline"), device="cpu")


NAMES = ("shirt", "bag", "sneaker")


def pictures(labels: list[int]) -> Dataset:
    photos = np.stack([tiny_world.photos()[i % 2] for i in range(len(labels))])
    return arrays(photos, labels, NAMES, name="pictures")


def test_tokens_of_some_classes_are_trained_and_saved(base: Base, tmp_path: Path) -> None:
    data, seen = pictures([0, 1, 1, 2]), []
    bag, sneaker = find_classes(["bag", "sneaker"], NAMES)
    trained = train_tokens(base, data, [bag], tmp_path / "tokens", names=NAMES, **QUICK)
    assert (trained.existing, len(trained.losses[1])) == (0, 5)
    more = train_tokens(base, data, [bag, sneaker], tmp_path / "tokens", names=NAMES, **QUICK,
                        progress=lambda *at: seen.append(at))  # fmt: skip
    assert more.existing == 1
    assert seen[-1] == ("sneaker", 10, 10)
    assert not list((tmp_path / "tokens").rglob("*.state"))
    expected = train_token(tiny_world.pipeline(), [data.image(1), data.image(2)], "bag", 1, **QUICK)
    kept = load_token(tmp_path / "tokens" / "trained" / "001.safetensors")
    torch.testing.assert_close(kept.embedding, expected.embedding)
    tokens = load_tokens(tiny_world.pipeline(), tmp_path / "tokens")
    assert tokens == ("", "<bag-1>", "<sneaker-2>")
    assert [one.prompt for one in find_classes(["bag", "2"], NAMES, tokens)] == ["<bag-1>", "<sneaker-2>"]
    assert {one.number for one in find_classes(["random:2"], NAMES, tokens)} == {1, 2}
    with pytest.raises(BrittleError, match=naming(0, 2, "`brittle slide token`")):
        find_classes(["shirt"], NAMES, tokens)


def test_bad_input_of_tokens(base: Base, tmp_path: Path) -> None:
    [bag] = find_classes(["bag"], NAMES)
    with pytest.raises(BrittleError, match=naming("pictures", "bag")):
        train_tokens(base, pictures([0, 2]), [bag], tmp_path / "tokens", names=NAMES, **QUICK)
    with pytest.raises(BrittleError, match=naming("--tokens")):
        train_tokens(replace(base, tokens="x"), pictures([1]), [bag], tmp_path / "tokens", names=NAMES)


def test_tokens_of_another_text_encoder_are_refused(learnt, tmp_path: Path) -> None:
    pipeline, _, token = learnt
    save_tokens(pipeline, tmp_path / "tokens", [token])
    other = tiny_world.pipeline()
    with torch.no_grad():
        for parameter in other.text_encoder.parameters():
            if parameter.ndim == 1:
                parameter.add_(0.5)
    with pytest.raises(BrittleError, match=naming("tokens", other.text_encoder.config.hidden_size)):
        load_tokens(other, tmp_path / "tokens")
    rounded = tiny_world.pipeline()
    rounded.text_encoder.to(torch.bfloat16)  # the same one in half precision
    assert load_tokens(rounded, tmp_path / "tokens") == ("<heavy bag-7>",)


def test_random_classes_are_drawn_by_a_seed() -> None:
    names = [f"class {i}" for i in range(1000)]
    drawn = find_classes(["random:100"], names)
    numbers = [one.number for one in drawn]
    assert numbers == sorted(set(numbers))
    assert len(numbers) == 100
    assert numbers == [one.number for one in find_classes(["random:100"], names, seed=0)]
    assert numbers != [one.number for one in find_classes(["random:100"], names, seed=1)]
    for text in ("random:0", "random:1001", "random:many", "random:"):
        with pytest.raises(BrittleError, match=naming(1000, text)):
            find_classes([text], names)
