"""What the explorer has: models that load in the background, and pictures that the browser knows by ids alone."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.corruptions import Sample
from brittle.datasets import Dataset, UnreadableImage, photo, read_image

DEMO_MODELS = ("demo:standard", "demo:augmix")
DEMO_DATA = "demo"
PHOTOS = ("cat", "coffee")
PHOTO_SIDE = 300
"""The bundled photographs are given to `square` at this side, as by `brittle show` and `brittle probe`."""

MAX_BYTES = 20 * 2**20
MAX_PIXELS = 50_000_000
"""The largest picture that is taken from the browser; its sides are read before it is decoded."""

MAX_SIDE = 1024
"""Larger pictures are reduced to this side before they are corrupted: a screen shows no more."""

UPLOADED_BYTES, DRAWN_BYTES = 512 * 2**20, 64 * 2**20
"""What decoded pictures of the browser and of the dataset may take of the memory, and what corrupted pictures may."""


HEAD_START = 1.5
"""Seconds that the first page has before models are loaded: importing torch keeps Python from anything else."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A clean picture: its pixels, how its draws are addressed, and how Python and a shell get at it.

    `python` is an expression of these pixels, with `brittle` and the dataset `data` at hand; `shell` is what stands
    for SRC in `brittle corrupt`, with the options that it needs.
    """

    id: str
    name: str
    pixels: Image
    sample: Sample
    python: str
    shell: tuple[str, ...]
    label: int | None = None
    from_data: bool = False


class LoadingModel:
    """A model that may still be loading, with the lock that keeps two requests from using it at once."""

    def __init__(self, given: Any, name: str | None = None) -> None:
        """With a name the model is called so; else it is called as it calls itself."""
        self.given, self.given_name, self.text = given, name, given if isinstance(given, str) else None
        self.name = name or str(self.text or getattr(given, "name", None) or type(given).__name__)
        self.model: Any = None
        self.error = ""
        self.lock = threading.Lock()
        self.done = threading.Event()

    def load(self, *, names_follow: bool = False) -> None:
        """Load it, once; what goes wrong is kept as one sentence.

        If `names_follow`, a model that wants the names of classes is `done` only when `name_classes` has given them.
        """
        from brittle.models import wants_classes, wrap_model

        try:
            model = wrap_model(self.given, name=self.given_name)
            self.name, self.model = model.name, locked(model, self.lock)
        except Exception as error:  # shown on the page: a model's code may raise anything
            self.error = f"{error}" or type(error).__name__
        if not (names_follow and self.model is not None and wants_classes(self.model)):
            self.done.set()

    def name_classes(self, dataset: Dataset) -> None:
        """Give a model that takes the names of classes those of a dataset."""
        from brittle.evaluation import with_names_of

        try:
            if self.model is not None:
                [self.model] = with_names_of([self.model], dataset)
        except Exception as error:
            self.model, self.error = None, f"{error}" or type(error).__name__
        self.done.set()

    @property
    def status(self) -> str:
        """One of loading, ready and failed."""
        return "loading" if not self.done.is_set() else "failed" if self.error else "ready"


class LockedModel:
    """A model that one thread at a time may use; all else is the model's own."""

    def __init__(self, model: Any, lock: threading.Lock) -> None:
        self._model, self._lock = model, lock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def scores(self, images: Image) -> Any:
        """The scores of the model."""
        with self._lock:
            return self._model.scores(images)


class LockedZeroShotModel(LockedModel):
    """One that takes the names of classes; a protocol sees no attributes of `__getattr__` from Python 3.12 on."""

    def __init__(self, model: Any, lock: threading.Lock) -> None:
        super().__init__(model, lock)
        self.name, self.key, self.classes = model.name, model.key, model.classes

    def for_classes(self, names: Sequence[str]) -> LockedModel:
        """The model of these classes, with the same lock."""
        return locked(self._model.for_classes(names), self._lock)


def locked(model: Any, lock: threading.Lock) -> LockedModel:
    """The model with its lock, still recognised as one that takes the names of classes."""
    from brittle.models import ZeroShotModel

    return (LockedZeroShotModel if isinstance(model, ZeroShotModel) else LockedModel)(model, lock)


Value = TypeVar("Value")


class Recent(Generic[Value]):
    """Values by key, computed once; those used longest ago make room when all together weigh too much.

    Several threads may ask for one value at once: the first computes it, the others wait for it.
    """

    def __init__(self, limit: float, weigh: Callable[[Value], float] = lambda _: 1) -> None:
        self.limit, self.weigh, self.weight = limit, weigh, 0.0
        self._values: OrderedDict[Hashable, Future[Value]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Hashable) -> Value | None:
        """The value of a key, if it is kept."""
        with self._lock:
            kept = self._values.get(key)
            if kept is None or not kept.done():
                return None
            self._values.move_to_end(key)
        return kept.result()

    def once(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The value of a key, computed if it is not kept; an error is raised to all who wait, and not kept."""
        with self._lock:
            kept = self._values.get(key)
            if kept is None:
                computed: Future[Value] = Future()
                self._values[key] = computed
            else:
                self._values.move_to_end(key)
        if kept is not None:
            return kept.result()
        try:
            value = compute()
        except BaseException as error:
            with self._lock:
                self._values.pop(key, None)
            computed.set_exception(error)
            raise
        computed.set_result(value)
        self._make_room(self.weigh(value))
        return value

    def _make_room(self, added: float) -> None:
        with self._lock:
            self.weight += added
            for key in list(self._values):
                if self.weight <= self.limit or len(self._values) == 1:
                    break
                if self._values[key].done():
                    self.weight -= self.weigh(self._values.pop(key).result())


@dataclass(eq=False)
class State:
    """All that the pages show: models, pictures, a dataset, and the folders of runs.

    `data` is the dataset as it was given; `start` loads it and the models, and `loaded` is set when that is done. What
    pages read before anybody asks for it is `at_start`.
    """

    models: list[LoadingModel] = field(default_factory=list)
    photos: dict[str, Picture] = field(default_factory=dict)
    runs: tuple[Path, ...] = ()
    data: Any = None
    dataset: Dataset | None = None
    dataset_error: str = ""
    uploads: Recent[Picture] = field(default_factory=lambda: Recent(UPLOADED_BYTES, lambda kept: kept.pixels.nbytes))
    drawn: Recent[Image] = field(default_factory=lambda: Recent(DRAWN_BYTES, lambda kept: kept.nbytes))
    loaded: threading.Event = field(default_factory=threading.Event)
    shown: threading.Event = field(default_factory=threading.Event)
    at_start: list[Callable[[], None]] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        models: Any = None,
        pictures: Any = (),
        data: Any = None,
        runs: str | Path | Sequence[str | Path] = (),
    ) -> State:
        """The state of a call of `explore`; models and data are named now and loaded by `start`."""
        state = cls(runs=tuple(Path(run) for run in ([runs] if isinstance(runs, str | Path) else runs)))
        for run in state.runs:
            if not run.exists():
                raise FileNotFoundError(f"there is no run {str(run)!r}; give a folder that `brittle run` wrote")
        alone = models is None and data is None and not state.runs
        state.data = DEMO_DATA if alone else data
        state.models = _loading(DEMO_MODELS if alone else () if models is None else models)
        for number, given in enumerate(_listed(pictures)):
            shown = _picture(f"p{number}", given)
            state.photos[shown.id] = shown
        if not state.photos:
            state.photos = {f"b{i}": _bundled(f"b{i}", name) for i, name in enumerate(PHOTOS)}
        return state

    def start(self) -> None:
        """Load models and data in the background, after the first page or when nobody has asked for it soon."""

        def load_after_page() -> None:
            self.shown.wait(HEAD_START)
            self.load()

        for begin in (load_after_page, *self.at_start):
            threading.Thread(target=begin, name="brittle-explore-load", daemon=True).start()

    def load(self) -> None:
        """Load the data, then the models, and bring the data to the size and the classes of the models."""
        from brittle.evaluation.inputs import as_dataset, fitted

        dataset = None
        try:
            dataset = None if self.data is None else as_dataset(self.data)
        except Exception as error:
            self.dataset_error = str(error) or type(error).__name__
        if dataset is not None and not self.models:
            self.dataset = dataset.prepared_for(None)
        for model in self.models:
            model.load(names_follow=dataset is not None)
        ready = [model.model for model in self.models if model.model is not None]
        if dataset is not None and self.dataset is None:
            try:
                self.dataset = fitted(dataset, ready, None)
            except Exception as error:
                self.dataset_error = str(error) or type(error).__name__
                self.dataset = dataset.prepared_for(None)
            for model in self.models:
                model.name_classes(self.dataset)
        self.loaded.set()

    @property
    def problems(self) -> list[str]:
        """What could not be loaded, a sentence each; the page shows them too."""
        failed = [f"{model.name}: {model.error}" for model in self.models if model.error]
        return [*failed, *([self.dataset_error] if self.dataset_error else [])]

    def picture(self, identity: str) -> Picture:
        """The picture of an id that the server gave out; no id is ever a path."""
        known = self.photos.get(identity) or self.uploads.get(identity)
        if known is not None:
            return known
        match = re.fullmatch(r"d(\d{1,9})", identity, re.ASCII)
        if match and self.dataset is not None and int(match[1]) < len(self.dataset):
            data, index = self.dataset, int(match[1])
            return self.uploads.once(f"d{index}", lambda: self._of_dataset(data, index))
        raise BrittleError(f"there is no picture {identity[:40]!r}; it may have made room for newer ones")

    def _of_dataset(self, data: Dataset, index: int) -> Picture:
        identity = data.ids[index]
        try:
            pixels = data.image(index)
        except UnreadableImage as error:
            raise BrittleError(f"{identity!r} of {data.name!r} cannot be read: {error}") from error
        label = None if data.labels is None else int(data.labels[index])
        shell: tuple[str, ...] = ()
        if isinstance(self.data, str | Path):
            prepare = () if data.preparation == "none" else ("--prepare", data.preparation)
            shell = (str(self.data), "--sample", str(identity), *prepare)
        python = f"data.image({index})"
        return Picture(f"d{index}", str(identity), pixels, identity, python, shell, label, from_data=True)

    @property
    def data_in_python(self) -> str | None:
        """An expression of the dataset, if a text named it."""
        if self.dataset is None or not isinstance(self.data, str | Path):
            return None
        prepared = "" if self.dataset.preparation == "none" else f".prepared({self.dataset.preparation!r})"
        return f"brittle.load_dataset({str(self.data)!r}){prepared}"

    def upload(self, content: bytes, name: str) -> Picture:
        """Keep a picture of the browser; its sides are checked before it is decoded."""
        pixels = read_upload(content)
        clean_name = re.sub(r"[^\w.\- ]", "_", name.replace("\\", "/").rpartition("/")[2])[-80:] or "picture.png"
        identity = f"u{sha256(clean_name.encode() + content).hexdigest()[:20]}"
        python = f"brittle.datasets.read_image({clean_name!r})"
        shown = Picture(identity, clean_name, pixels, clean_name, python, (clean_name,))
        return self.uploads.once(identity, lambda: shown)


def read_upload(content: bytes) -> Image:
    """A picture from the bytes of a file, or a BrittleError that says why it is none."""
    from PIL import Image as Pil

    if not content:
        raise BrittleError("the picture is empty")
    if len(content) > MAX_BYTES:
        raise BrittleError(f"a picture has at most {MAX_BYTES // 2**20} MB, this one has {len(content) / 2**20:.0f} MB")
    try:
        with Pil.open(BytesIO(content)) as file:
            width, height = file.size
    except Pil.DecompressionBombError:
        raise BrittleError(f"a picture has at most {MAX_PIXELS / 1e6:g} million pixels, this one has more") from None
    except Exception:
        raise BrittleError("this is not a picture that can be read here; use PNG, JPEG or WebP") from None
    if width * height > MAX_PIXELS:
        raise BrittleError(
            f"a picture has at most {MAX_PIXELS / 1e6:g} million pixels, this one has {width:,} × {height:,}"
        )
    try:
        return np.asarray(read_image(BytesIO(content)))
    except UnreadableImage as error:
        raise BrittleError(f"the picture cannot be read: {error}") from error


def _loading(models: Any) -> list[LoadingModel]:
    """The models of a call, none of them loaded yet."""
    if isinstance(models, Mapping):
        return [LoadingModel(model, str(name)) for name, model in models.items()]
    return [LoadingModel(model) for model in (models if isinstance(models, list | tuple) else [models])]


def _listed(pictures: Any) -> list[Any]:
    if isinstance(pictures, Mapping):
        return list(pictures.items())
    if isinstance(pictures, list | tuple):
        return list(pictures)
    return [] if pictures is None else [pictures]


def _bundled(identity: str, name: str) -> Picture:
    python = f"brittle.datasets.photo({name!r}, size={PHOTO_SIDE})"
    return Picture(identity, name, photo(name, PHOTO_SIDE), name, python, (name,))


def _picture(identity: str, given: Any) -> Picture:
    """A picture from a bundled name, a file, an array or a PIL image; a pair is a name and one of them."""
    from brittle.datasets.images import any_image

    name = ""
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], str):
        name, given = given
    if isinstance(given, str | Path):
        if str(given) in PHOTOS and not Path(given).exists():
            return _bundled(identity, str(given))
        try:
            pixels = read_image(given)
        except FileNotFoundError:
            hint = f"give an image file, or {' or '.join(PHOTOS)}"
            raise FileNotFoundError(f"there is no picture {str(given)!r}; {hint}") from None
        except UnreadableImage as error:
            raise BrittleError(f"cannot read the picture {str(given)!r}: {error}") from None
        python = f"brittle.datasets.read_image({str(given)!r})"
        name = name or Path(given).name
        return Picture(identity, name, pixels, name, python, (str(given),))
    name = name or ("picture" if identity == "p0" else f"picture {identity[1:]}")
    return Picture(identity, name, any_image(given), name, "image", ())
