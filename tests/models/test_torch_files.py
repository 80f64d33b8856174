"""TorchScript archives and files of torch.export: the scores of the eager network, and no foreign code."""

import contextlib
import enum
import io
import json
import os
import pickle
import weakref
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle import BrittleError
from brittle.datasets import arrays
from brittle.models import Preprocessing, load_model
from brittle.models.exported_program import ExportedGraph
from tests.errors import naming
from tests.models.networks import images, small_net

pytestmark = [
    pytest.mark.filterwarnings("ignore:torch.tensor results:torch.jit.TracerWarning"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),
    pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning"),
]


class Net(nn.Module):
    """With what graphs of classifiers have: sizes, buffers, constants, branches, parts of tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.GELU())
        self.query, self.norm = nn.Linear(8, 24), nn.LayerNorm(8)
        self.head = nn.Linear(16, 5)
        self.register_buffer("weights", torch.arange(3.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stem(x)
        n, c, h, w = y.shape
        tokens = self.norm(y.reshape(n, c, h * w).transpose(1, 2))
        q, k, v = self.query(tokens).chunk(3, dim=2)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)
        pooled = torch.cat([mixed.mean(1), mixed.amax(1)], 1)
        pooled = torch.where(pooled > 0, pooled, 0.1 * pooled).clamp(min=float("-inf"))
        return self.head(pooled) * self.weights.sum() / torch.tensor(3.0)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def net() -> nn.Module:
    torch.manual_seed(1)
    network = Net().eval()
    for layer in network.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
    return network


def scripted(net: nn.Module, path: Path) -> Path:
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.script(net).save(str(path))
    return path


def traced(net: nn.Module, path: Path) -> Path:
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.trace(net, torch.zeros(2, 3, 20, 20)).save(str(path))
    return path


def exported(net: nn.Module, path: Path, *, batch: int = 3, dynamic: bool = True, decomposed: bool = False) -> Path:
    shapes = ({0: torch.export.Dim("n")},) if dynamic else None
    program = torch.export.export(net, (torch.zeros(batch, 3, 20, 20),), dynamic_shapes=shapes)
    torch.export.save(program.run_decompositions() if decomposed else program, path)
    return path


MAKERS: dict[str, Callable[[nn.Module, Path], Path]] = {
    "scripted.pt": scripted,
    "traced.torchscript": traced,
    "any.pt2": exported,
    "three.pt2": lambda net, path: exported(net, path, dynamic=False),
    "core.pt2": lambda net, path: exported(net, path, decomposed=True),
}


@pytest.mark.parametrize("name", MAKERS)
def test_scores_are_those_of_the_network(net: nn.Module, tmp_path: Path, name: str) -> None:
    path = MAKERS[name](net, tmp_path / name)
    options = {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4), "size": 24, "crop": 20}
    model = load_model(path, device="cpu", **options)
    given = images(7, 30, 40)
    prepare = Preprocessing(**options)
    with torch.inference_mode():
        expected = net(prepare.tensor(given, "cpu").contiguous()).numpy()
    tolerance = {"atol": 2e-6} if name == "core.pt2" else {"atol": 0, "rtol": 0}
    np.testing.assert_allclose(model.scores(given), expected, **tolerance)
    assert model.name == Path(name).stem
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.scores(given), model.scores(given))
    assert again.key == model.key


def test_an_export_of_another_network_equals_it_too(tmp_path: Path) -> None:
    net = small_net().eval()
    program = torch.export.export(net, (torch.zeros(1, 3, 32, 32),))
    torch.export.save(program, tmp_path / "net.pt2")
    model = load_model(f"{tmp_path / 'net.pt2'},mean=0.5,std=0.5", device="cpu")
    assert model.prepare.shown == (32, 32)  # that of the graph, which takes one image at once
    given = images(3, 40, 40)
    with torch.inference_mode():
        shown = model.prepare.tensor(given, "cpu")
        expected = torch.cat([net(shown[i : i + 1].contiguous()) for i in range(3)]).numpy()
    np.testing.assert_array_equal(model.scores(given), expected)


def test_the_key_covers_the_file_and_the_preprocessing(net: nn.Module, tmp_path: Path) -> None:
    first, second = exported(net, tmp_path / "a.pt2"), exported(nn.Sequential(net).eval(), tmp_path / "b.pt2")
    copy = tmp_path / "copy.pt2"
    copy.write_bytes(first.read_bytes())
    key = load_model(first, device="cpu").key
    assert load_model(copy, device="cpu").key == key
    script = load_model(scripted(net, tmp_path / "c.pt"), device="cpu").key
    assert len({key, script, load_model(second).key, load_model(first, mean=(0, 0, 0)).key}) == 4


@pytest.mark.parametrize("name", ["scripted.pt", "any.pt2"])
def test_a_run_takes_them(net: nn.Module, tmp_path: Path, name: str) -> None:
    path = MAKERS[name](net, tmp_path / name)
    data = arrays(images(6, 20, 20), [0, 1, 2, 3, 4, 0], ["a", "b", "c", "d", "e"], name="noise")
    results = brittle.evaluate(str(path), data, progress=None, threads=2)
    rows = results.rows.collect()
    np.testing.assert_array_equal(rows["prediction"], load_model(path).scores(images(6, 20, 20)).argmax(1))


class Runs:
    """A pickle that leaves a file behind when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def changed(path: Path, target: Path, edits: dict[str, Callable[[bytes], bytes]], new: dict[str, bytes] = {}) -> Path:  # noqa: B006
    """A copy of an archive with some records edited, and others added."""
    reader = torch._C.PyTorchFileReader(str(path))
    writer = torch._C.PyTorchFileWriter(str(target))
    for name in reader.get_all_records():
        if name not in ("version", ".data/version", "byteorder", ".data/serialization_id"):
            content = reader.get_record(name)
            content = edits[name](content) if name in edits else content
            writer.write_record(name, content, len(content))
    for name, content in new.items():
        writer.write_record(name, content, len(content))
    writer.write_end_of_file()
    return target


def torch_saved(thing: Any) -> bytes:
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    return buffer.getvalue()


def in_json(**where: Any) -> Callable[[bytes], bytes]:
    """An edit of JSON: each path, as a__b__0, gets a value."""

    def edit(content: bytes) -> bytes:
        data = json.loads(content)
        for path, value in where.items():
            *keys, last = path.split("__")
            place = data
            for key in keys:
                place = place[int(key) if key.isdecimal() else key]
            place[last] = value
        return json.dumps(data).encode()

    return edit


MODEL, WEIGHTS = "models/model.json", "data/weights/model_weights_config.json"
CONSTANTS, INPUTS = "data/constants/model_constants_config.json", "data/sample_inputs/model.pt"
TARGET = "graph_module__graph__nodes__0__target"


def hostile(path: Path, target: Path, kind: str, proof: Path) -> Path:
    """A file of torch.export that makes the folder `proof` if anything in it is run."""
    pickled = torch_saved(Runs(proof))
    code = f"__import__('os').mkdir({str(proof)!r})"
    constant = {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}
    first = {"as_expr": {"expr_str": code, "hint": {"as_int": 3}}}
    call = [{"name": "", "arg": {"as_string": str(proof)}, "kind": 1}]
    edits: dict[str, tuple[dict[str, Callable[[bytes], bytes]], dict[str, bytes]]] = {
        "inputs": ({INPUTS: lambda _: pickled}, {}),
        "weights": (
            {
                WEIGHTS: lambda content: json.dumps(
                    {
                        "config": {
                            name: {**payload, "use_pickle": True, "path_name": "weight_evil"}
                            for name, payload in json.loads(content)["config"].items()
                        }
                    }
                ).encode()
            },
            {"data/weights/weight_evil": pickled},
        ),
        "constants": (
            {CONSTANTS: in_json(config={"evil": constant})},
            {"data/constants/opaque_obj_0": pickle.dumps(Runs(proof))},
        ),
        "size": ({MODEL: in_json(graph_module__graph__tensor_values__x__sizes=[first, *SIZES])}, {}),
        "call": (
            {MODEL: in_json(**{TARGET: "torch.os.mkdir", "graph_module__graph__nodes__0__inputs": call})},
            {},
        ),
        "guards": ({MODEL: in_json(guards_code=[code])}, {}),
        "library": ({}, {"data/aotinductor/model/model.so": b"\x7fELF"}),
    }
    return changed(path, target, *edits[kind])


SIZES = [{"as_int": 3}, {"as_int": 20}, {"as_int": 20}]
KINDS = ("inputs", "weights", "constants", "size", "call", "guards", "library")


@pytest.mark.parametrize("kind", KINDS)
def test_no_part_of_an_export_runs_code(net: nn.Module, tmp_path: Path, kind: str) -> None:
    proof = tmp_path / "it ran"
    path = hostile(exported(net, tmp_path / "good.pt2"), tmp_path / "bad.pt2", kind, proof)
    is_read = kind in ("weights", "constants", "call", "library")
    with pytest.raises(BrittleError, match=naming("bad.pt2")) if is_read else contextlib.nullcontext():
        scores = load_model(path, device="cpu").scores(images(2, 20, 20))
        good = load_model(tmp_path / "good.pt2", device="cpu")
        np.testing.assert_array_equal(scores, good.scores(images(2, 20, 20)))
    assert not proof.exists()


@pytest.mark.parametrize("kind", ["inputs", "weights", "constants", "size"])
def test_the_loader_of_torch_would_have_run_it(net: nn.Module, tmp_path: Path, kind: str) -> None:
    """Why it is not used: if this fails for a newer torch, that one is safer."""
    proof = tmp_path / "it ran"
    path = hostile(exported(net, tmp_path / "good.pt2"), tmp_path / "bad.pt2", kind, proof)
    with contextlib.suppress(Exception):
        torch.export.load(path).module()(torch.zeros(2, 3, 20, 20))
    assert proof.exists()


@pytest.mark.parametrize("operator", ["aten::relu", "prim::Print", "torch.ops.aten.relu", "relu", "os.system"])
def test_operators_by_other_names_are_refused(net: nn.Module, tmp_path: Path, operator: str) -> None:
    path = changed(exported(net, tmp_path / "good.pt2"), tmp_path / "bad.pt2", {MODEL: in_json(**{TARGET: operator})})
    with pytest.raises(BrittleError, match=naming("bad.pt2", operator)):
        load_model(path, device="cpu")


def test_tensors_of_an_export_are_freed_after_their_last_use(tmp_path: Path) -> None:
    class Deep(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = x
            for _ in range(20):
                x = torch.relu(x) + 1
            return (x + first).mean((2, 3))

    class Alive(torch.utils._python_dispatch.TorchDispatchMode):
        """Counts the results of operators that are in memory at once."""

        def __init__(self) -> None:
            super().__init__()
            self.results: list[weakref.ref[torch.Tensor]] = []
            self.most = 0

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            self.results.append(weakref.ref(result))
            self.most = max(self.most, sum(kept() is not None for kept in self.results))
            return result

    graph = ExportedGraph(exported(Deep(), tmp_path / "deep.pt2").read_bytes(), "deep.pt2")
    given = torch.rand(3, 3, 20, 20)
    with Alive() as alive:
        scores = graph(given)
    torch.testing.assert_close(scores, Deep()(given))
    assert len(alive.results) > 40
    assert alive.most <= 3


class Saves(nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch.save(x, self.path)
        return x.mean((2, 3))


class Reads(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        content = torch.from_file("/etc/hostname", False, 4, dtype=torch.uint8)
        return x.mean((2, 3)) + content.float().mean()


class SetsState(nn.Module):
    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path

    @torch.jit.export
    def __getstate__(self) -> tuple[str, bool]:
        return self.path, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[str, bool]) -> None:
        self.path, self.training = state[0], state[1]
        torch.save(torch.zeros(1), self.path)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean((2, 3))


class Branches(nn.Module):
    """The file is written only in a branch of a method of a part."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.part = Saves(path)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(x) if x.shape[0] > 1000 else x.mean((2, 3))


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (Saves, "aten::save"),
        (Branches, "aten::save"),
        (lambda _: Reads(), "aten::from_file"),
        (SetsState, "__setstate__"),
    ],
)
def test_torchscript_that_does_more_than_compute_is_refused(
    tmp_path: Path, made: Callable[[str], nn.Module], named: str
) -> None:
    proof = tmp_path / "written"
    path = scripted(made(str(proof)), tmp_path / "bad.pt")
    proof.unlink(missing_ok=True)
    with pytest.raises(BrittleError, match=naming("bad.pt", named)):
        load_model(path, device="cpu")
    assert not proof.exists()


def test_torch_would_have_written_the_file_while_it_loads(tmp_path: Path) -> None:
    proof = tmp_path / "written"
    path = scripted(SetsState(str(proof)), tmp_path / "bad.pt")
    proof.unlink(missing_ok=True)
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.load(str(path))
    assert proof.exists()


def reworded(path: Path, target: Path, edit: Callable[[str], str], upper: bool = False) -> Path:
    """A copy of an archive of TorchScript with its code edited; with `upper` its records have names in capitals."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith(".py"):
                content = edit(content.decode()).encode()
                name = name.replace("/code/", "/CODE/").replace(".py", ".PY") if upper else name
            new.writestr(name, content)
    return target


class Mean(nn.Module):
    k: torch.jit.Final[int] = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean((2, 3)) * self.k


ADDED = {
    "a default, save": ("x: Tensor)", 'x: Tensor, y: Tuple[()]=torch.save(torch.ones([3]), "PROOF"))'),
    "a default, from_file": ("x: Tensor)", 'x: Tensor, y: Tensor=ops.aten.from_file("PROOF", True, 100))'),
    "a default in a tuple": ("x: Tensor)", 'x: Tensor, y: Tuple[Tensor]=(torch.from_file("PROOF", True, 9), ))'),
    "a constant of a class": ("  k : Final", '  z : Final[Tensor] = torch.from_file("PROOF", True, 10)\n  k : Final'),
    "a field": ("", 'class Pair(NamedTuple):\n  a : Tensor = torch.from_file("PROOF", True, 10)\n'),
    "an index": ("x: Tensor)", 'x: Tensor, y: Tensor=torch.from_file("PROOF", True, 10)[0])'),
    "an attribute": ("x: Tensor)", 'x: Tensor, y: Tensor=torch.from_file("PROOF", True, 10).T)'),
    "a statement": ("", 'torch.from_file("PROOF", True, 10)\n'),
}


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("place", ADDED)
def test_no_code_of_torchscript_runs_while_it_loads(tmp_path: Path, place: str, upper: bool) -> None:
    """torch finds records whether their names are in capitals or not."""
    proof = tmp_path / "it ran"
    before, after = (text.replace("PROOF", str(proof)) for text in ADDED[place])

    def edit(code: str) -> str:
        assert before in code
        return code.replace(before, after) if before else code + after

    path = reworded(scripted(Mean().eval(), tmp_path / "good.pt"), tmp_path / "bad.pt", edit, upper)
    with pytest.raises(BrittleError, match=naming("bad.pt", "from_file" if "from_file" in after else "torch.save")):
        load_model(path, device="cpu")
    assert not proof.exists()


@pytest.mark.parametrize("place", ["a default, save", "a default, from_file", "a constant of a class"])
def test_torch_would_have_run_that_code(tmp_path: Path, place: str) -> None:
    proof = tmp_path / "it ran"
    before, after = (text.replace("PROOF", str(proof)) for text in ADDED[place])
    good = scripted(Mean().eval(), tmp_path / "good.pt")
    path = reworded(good, tmp_path / "bad.pt", lambda code: code.replace(before, after), upper=True)
    with pytest.warns(DeprecationWarning, match="torch.jit"), contextlib.suppress(RuntimeError):
        torch.jit.load(str(path))
    assert proof.exists()


@pytest.mark.parametrize(
    "sign", ["# a comment", 'class A:\n  """a\n"""\n', "x = 1; y = 2", "\r", "\f", "\t", "\\\n", "é", "\0", "def f(:"]
)
def test_code_that_python_and_torch_may_read_differently_is_refused(tmp_path: Path, sign: str) -> None:
    good = scripted(Mean().eval(), tmp_path / "good.pt")
    path = reworded(good, tmp_path / "bad.pt", lambda code: code + sign + "\n")
    with pytest.raises(BrittleError, match=naming("bad.pt", "torch.jit.save")):
        load_model(path, device="cpu")


def test_two_records_of_one_name_are_refused(tmp_path: Path) -> None:
    good = scripted(Mean().eval(), tmp_path / "good.pt")
    path = changed(good, tmp_path / "bad.pt", {}, {"DATA.pkl": b"\x80\x02}."})
    with pytest.raises(BrittleError, match=naming("bad.pt", "two records")):
        load_model(path, device="cpu")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    first: torch.Tensor
    second: int | None = None
    sides: tuple[int, float] = (-1, 2.5)


class Ordinary(nn.Module):
    """With all that torch writes as defaults and constants."""

    ratio: torch.jit.Final[float] = -2.5
    limits: torch.jit.Final[list[float]] = [float("-inf"), float("nan"), float("inf")]  # noqa: RUF012
    text: torch.jit.Final[str] = 'it\'s "é"; # \\\n'
    device: torch.jit.Final[torch.device] = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        self.colour = Colour.RED
        self.parts = nn.ModuleList([nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Dropout()])
        self.named = nn.ModuleDict({"a b": nn.Linear(8, 8)})
        self.layer = nn.LayerNorm(8)
        self.rows = nn.LSTM(8, 5)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,  # noqa: ARG002
        scale: torch.Tensor = torch.ones(1),  # noqa: B008
        colour: Colour = Colour.BLUE,
        turn: complex = 1 - 2j,  # noqa: ARG002
        pair: tuple[int, float] = (1, -2.0),
        limit: float = float("-inf"),  # noqa: ARG002
        where: torch.device = torch.device("cpu"),  # noqa: ARG002, B008
        dtype: torch.dtype = torch.float32,  # noqa: ARG002
        many: int = 2**40,  # noqa: ARG002
    ) -> torch.Tensor:
        y = Pair(x * scale)
        for part in self.parts:
            x = part(x)
        if self.colour == colour:
            x = x + pair[0]
        x = self.named["a b"](x.mean((2, 3)))
        return self.rows(self.layer(x[None]))[0][0] * self.ratio + y.sides[0]


def test_what_torch_writes_for_ordinary_networks_is_read(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = Ordinary().eval()
    model = load_model(scripted(network, tmp_path / "net.pt"), device="cpu")
    given = images(3, 16, 16)
    with torch.inference_mode():
        expected = network(model.prepare.tensor(given, "cpu").contiguous()).numpy()
    np.testing.assert_allclose(model.scores(given), expected, atol=1e-6)


def test_pickles_in_torchscript_hold_nothing_foreign(tmp_path: Path) -> None:
    path = scripted(small_net().eval(), tmp_path / "good.pt")
    proof = tmp_path / "it ran"
    for record in ("data.pkl", "constants.pkl"):
        bad = changed(path, tmp_path / "bad.pt", {record: lambda _: pickle.dumps(Runs(proof), 2)})
        with pytest.raises(BrittleError, match=naming(record, "bad.pt")):
            load_model(bad, device="cpu")
    bound = b"\x80\x02c__torch__.torch\nclasses.quantized.Conv2dPackedParamsBase\n."
    with pytest.raises(BrittleError, match=naming("bad.pt", "torch.classes.quantized")):
        load_model(changed(path, tmp_path / "bad.pt", {"data.pkl": lambda _: bound}), device="cpu")
    assert not proof.exists()


def test_quantised_networks_are_refused_with_a_way_out(tmp_path: Path) -> None:
    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.packed = torch.ops.quantized.linear_prepack(
                torch.quantize_per_tensor(torch.ones(2, 3), 0.1, 0, torch.qint8), None
            )

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.quantized.linear_dynamic(x.mean((2, 3)), self.packed)

    with pytest.raises(BrittleError, match=naming("packed.pt", "ONNX")):
        load_model(scripted(Packed().eval(), tmp_path / "packed.pt"), device="cpu")


@pytest.mark.parametrize("name", ["scripted.pt", "any.pt2"])
@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_truncated_files_are_one_sentence(net: nn.Module, tmp_path: Path, name: str, share: float) -> None:
    path = MAKERS[name](net, tmp_path / name)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    scheme = "" if name.endswith("2") else "torchscript:"
    with pytest.raises(BrittleError, match=naming(name)):
        load_model(f"{scheme}{path}", device="cpu")


def test_files_that_are_something_else(net: nn.Module, tmp_path: Path) -> None:
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    with pytest.raises(BrittleError, match=naming("FILE.py:FUNCTION,weights=", "weights.pt")):
        load_model(tmp_path / "weights.pt")
    with pytest.raises(BrittleError, match=naming("weights.pt", "torch.jit.save")):
        load_model(f"torchscript:{tmp_path / 'weights.pt'}")
    with pytest.raises(BrittleError, match=naming("weights.pt", "torch.export.save")):
        load_model(f"torch-export:{tmp_path / 'weights.pt'}")
    with zipfile.ZipFile(tmp_path / "old.pt2", "w") as archive:
        archive.writestr("version", "8.8")
    with pytest.raises(BrittleError, match=naming("old.pt2", "torch.export.save")):
        load_model(tmp_path / "old.pt2")
    for missing in ("gone.pt2", "gone.torchscript"):
        with pytest.raises(FileNotFoundError, match=missing):
            load_model(tmp_path / missing)


def test_inputs_and_sizes_that_do_not_fit(net: nn.Module, tmp_path: Path) -> None:
    path = exported(net, tmp_path / "net.pt2")
    with pytest.raises(BrittleError, match=naming("net.pt2", "(20, 20)", "(16, 16)")):
        load_model(path, size=16)

    class Grey(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.mean((2, 3))

    torch.export.save(torch.export.export(Grey(), (torch.zeros(1, 1, 8, 8),)), tmp_path / "grey.pt2")
    with pytest.raises(BrittleError, match=naming("grey.pt2", "1×1×8×8")):
        load_model(tmp_path / "grey.pt2")

    class Two(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x.mean((2, 3)) + y

    torch.export.save(torch.export.export(Two(), (torch.zeros(2, 3, 8, 8), torch.zeros(3))), tmp_path / "two.pt2")
    with pytest.raises(BrittleError, match=naming("two.pt2", "2 inputs")):
        load_model(tmp_path / "two.pt2")
