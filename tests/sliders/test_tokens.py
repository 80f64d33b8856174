"""Class tokens: the published format, and new ones."""

from pathlib import Path

import pytest
import torch

from brittle import BrittleError
from brittle.sliders import (
    ClassToken,
    Sampling,
    add_token,
    draw_trajectory,
    load_token,
    load_tokens,
    save_tokens,
    train_token,
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
    from dataclasses import replace

    made = draw_trajectory(fresh, replace(slider, prompt="<heavy bag-7>"), [1.0], [1], sampling=Sampling(steps=2))
    assert made.shape == (1, 1, 16, 16, 3)
    (tmp_path / "text_encoder" / "model.safetensors").unlink()
    with pytest.raises(BrittleError, match=naming("text_encoder")):
        load_tokens(fresh, tmp_path)
    torch.save({"tokens": ["<nobody-3>"], "initializer_words": [""]}, tmp_path / "tokens.pt")
    with pytest.raises(BrittleError, match=naming(1, "<nobody-3>")):
        load_tokens(fresh, tmp_path)
