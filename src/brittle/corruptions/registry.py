"""The registry of corruptions."""

from __future__ import annotations

import difflib
import importlib
import inspect
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, lru_cache
from operator import index
from pathlib import Path
from typing import Any, Literal, TypeVar

from brittle._errors import BrittleError, BrittleTypeError
from brittle._html import html_block, html_image, html_title
from brittle._identity import code_digest
from brittle.corruptions.severity import DRAWN_SIZE, Levels, check_severity, choose_table

FAMILIES = ("noise", "blur", "weather", "digital", "colour", "geometry", "occlusion")
SETS = ("imagenet_c", "c_bar", "noc", "syn2nat")
"""The folders that hold the published sets, in the order in which they are listed."""

BARE = "imagenet-c"
"""The default set of a name without a set."""

ON_OFF_SEVERITY = 5
"""The largest severity of a corruption without parameters, which has the same effect at all severities above 0."""

SHOWN = 96
"""The side of the photographs that notebooks show a corruption by."""

STAND_IN = "brittle stand-in"
"""The module name of a corruption whose code is not loaded, see `stand_in`."""

Function = TypeVar("Function", bound=Callable[..., Any])
Channels = Literal["any", "grey or rgb", "rgb"]


@dataclass(frozen=True, eq=False)
class Corruption:
    """A named image transform with one continuous severity axis; severity 0 is the clean image.

    Call it like `brittle.corrupt`:

    >>> import brittle
    >>> contrast = brittle.get_corruption("contrast")
    >>> image = brittle.datasets.photo("cat")
    >>> contrast(image, severity=3.5, sample="cat.jpg").shape == image.shape
    True
    >>> contrast.parameters(5)
    {'factor': 0.05}
    """

    id: str
    family: str
    source: str
    function: Callable[..., Any] = field(repr=False)
    levels: Mapping[str, Levels] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    channels: Channels = field(repr=False, default="grey or rgb")
    monotone: bool = field(repr=False, default=True)
    fades: bool = field(repr=False, default=True)
    blends: bool = field(repr=False, default=False)
    alias_of: str | None = field(repr=False, default=None)
    moves_pixels: bool = field(repr=False, default=False)
    full_depth: bool = field(repr=False, default=False)

    @property
    def name(self) -> str:
        """The part of the id after the source."""
        return self.id.rpartition("/")[2]

    @cached_property
    def bundled(self) -> bool:
        """Whether it is part of brittle."""
        return self.function.__module__.startswith("brittle.")

    @cached_property
    def code(self) -> str:
        """A digest of its code if it is a user's; "" for those that are part of brittle."""
        return "" if self.bundled or not self.loaded else code_digest(self.function) or ""

    @property
    def loaded(self) -> bool:
        """Whether its code is loaded; stored runs keep a description of a user's corruption without it."""
        return self.function.__module__ != STAND_IN

    @property
    def docs(self) -> str:
        """Its docstring: the effect, and the published quirks that are kept."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """The first sentence of the docs."""
        return self.docs.partition("\n\n")[0].replace("\n", " ")

    @cached_property
    def max_severity(self) -> int:
        """The strongest published level."""
        return next((level.count for level in self.levels.values()), ON_OFF_SEVERITY)

    @cached_property
    def highest_severity(self) -> float:
        """The largest severity that its parameters allow: beyond the strongest published level where all can go on."""
        changing = [level for level in self.levels.values() if not level.constant]
        highest = min((level.highest for level in changing), default=float(self.max_severity))
        return math.floor(100 * highest + 1e-6) / 100

    @property
    def table_sides(self) -> tuple[int, ...]:
        """The image sides that have a published table."""
        return tuple(sorted({side for level in self.levels.values() for side in level.tables} or {DRAWN_SIZE}))

    def parameters(
        self, severity: float, size: int | tuple[int, int] = 224, *, table: int | None = None
    ) -> dict[str, float]:
        """The physical parameters at a real severity for an image of that size (its side, or height and width).

        `table=224` takes the published values of 224 px as they are, whatever the size of the image.
        """
        severity = check_severity(severity, self.highest_severity)
        self.check_table(table)
        sides = size[:2] if isinstance(size, tuple) else (size,)
        if not sides or not all(hasattr(side, "__index__") for side in sides):
            raise BrittleTypeError(f"size is an image side in whole pixels, or (height, width), got {size!r}")
        side = min(map(index, sides))
        if side < 1:
            raise BrittleError(f"an image side is at least 1 px, got size={size!r}")
        return dict(parameters_at(self, severity, side, table))

    def check_table(self, table: int | None) -> None:
        """Raise unless there is a published table for that image side."""
        if table is not None and table not in self.table_sides:
            sides = ", ".join(map(str, self.table_sides))
            raise BrittleError(f"{self.id} has published tables for {sides} px, got table={table!r}")

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise on an unknown option."""
        for name in options:
            if name not in self.options:
                allowed = ", ".join(self.options) or "none"
                raise BrittleTypeError(f"{self.id} has no option {name!r}; its options are: {allowed}")

    def _repr_html_(self) -> str:
        facts = self.family, f"severity 0 to {self.max_severity}"
        shown = [html_image(self(photo, level), f"{level}", side=SHOWN) for photo, level in self._shown()]
        return html_block(html_title("Corruption", self.id, *facts), *shown, note=self.summary)

    def _shown(self) -> list[tuple[Any, int]]:
        """The photograph of a cat, and the severities at which notebooks show it; none without the code."""
        if not self.loaded:
            return []
        import numpy as np
        from PIL import Image as Pil

        # a file of `brittle.datasets`, which stands above this room: it is data, so its place is all that is known
        with Pil.open(Path(__file__).parents[1] / "datasets" / "photos" / "cat.jpg") as file:
            photo = np.asarray(file.convert("RGB").resize((SHOWN, SHOWN), Pil.Resampling.BOX))
        return [(photo, level) for level in range(self.max_severity + 1)]

    def __call__(self, image: Any, severity: float, **options: Any) -> Any:
        """Corrupt an image: the same as `brittle.corrupt(image, self, severity, …)`."""
        from brittle.corruptions.images import corrupt

        return corrupt(image, self, severity, **options)


@lru_cache(maxsize=4096)
def parameters_at(corruption: Corruption, severity: float, side: int, table: int | None) -> Mapping[str, float]:
    """As `Corruption.parameters`, of arguments that were checked; not to be written to."""
    side = table or side  # a requested table is applied as for an image of that side
    return {name: level.at(severity, *choose_table(level.sides, side)) for name, level in corruption.levels.items()}


_by_id: dict[str, Corruption] = {}


def corruption(
    *,
    family: str,
    source: str,
    channels: Channels = "grey or rgb",
    monotone: bool = True,
    fades: bool = True,
    blends: bool = False,
    moves_pixels: bool | None = None,
    full_depth: bool = False,
    aliases: tuple[str, ...] = (),
    **parameters: Levels,
) -> Callable[[Function], Function]:
    """Register a function as a corruption. The function itself is unchanged: pure, with physical parameters.

    It is called as `function(image, rng, **parameters, **options)` with an H×W×C uint8 image that it must not
    change, and returns one of the same shape. Keyword arguments with a default are its options.

    Args:
        family: one of noise, blur, weather, digital, colour, geometry, occlusion.
        source: the published set, the first half of the id.
        channels: how many the function takes. "grey or rgb" is 1 or 3: it is given other bands one by one, as grey
            images, with the same draws. "any" is any number, each for example with noise of its own. "rgb" means
            colour: grey images are shown to it as RGB, and bands of data are refused.
        monotone: False if the distance to the clean image does not grow with every published severity.
        fades: False if the effect does not vanish towards severity 0 but jumps there.
        blends: True for a linear filter whose kernels cannot be interpolated between the levels: the results of the two
            neighbouring levels are blended instead.
        moves_pixels: True if the content of the image may be displaced, in any of its channels, so that a mask, a box
            or a keypoint no longer fits; by default True for geometry. Blurs, also along a trail, do not move pixels,
            nor do noise, colours, occlusions and blocks.
        full_depth: True if the function also takes float32 images of grey levels 0 … 255, and keeps their fractions, so
            that 16-bit images and floats with a `data_range` are not rounded to 256 levels.
        aliases: other published names of the same corruption; each is listed too.
        parameters: one `levels(...)` for every other keyword argument of the function. Without any, the corruption
            is on or off: every severity above 0 is the published one.
    """
    if family not in FAMILIES:
        raise BrittleError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    if len({level.count for level in parameters.values()}) > 1:
        counts = ", ".join(f"{name} has {level.count}" for name, level in parameters.items())
        raise BrittleError(f"all levels of a corruption need the same number of severities; {counts}")

    def register(function: Function) -> Function:
        keywords = [p for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY]
        options = {p.name: p.default for p in keywords if p.default is not p.empty}
        required = {p.name for p in keywords} - set(options)
        if required != set(parameters):
            raise BrittleTypeError(
                f"{function.__name__} takes {sorted(required)} but has levels for {sorted(parameters)}; "
                "give every keyword-only argument without a default its levels"
            )
        if not function.__module__.startswith("brittle."):
            _discover()  # so that a published name is not taken by accident
        main_id = f"{source}/{function.__name__}"
        for identity in (main_id, *(f"{source}/{alias}" for alias in aliases)):
            registered = _by_id.get(identity)
            if registered is not None and registered.function.__module__ not in (function.__module__, STAND_IN):
                raise BrittleError(f"there is already a corruption {identity!r}, in {registered.function.__module__}")
            alias_of = None if identity == main_id else main_id
            _by_id[identity] = Corruption(
                identity,
                family,
                source,
                function,
                parameters,
                options,
                channels,
                monotone,
                fades,
                blends,
                alias_of,
                moves_pixels=family == "geometry" if moves_pixels is None else moves_pixels,
                full_depth=full_depth,
            )
        return function

    return register


def describe(corruption: Corruption) -> dict[str, Any]:
    """A corruption as plain data for `stand_in`, without its code and the values of its options."""
    texts = {name: getattr(corruption, name) for name in ("id", "family", "source", "channels", "alias_of")}
    flags = {name: getattr(corruption, name) for name in ("monotone", "fades", "blends", "moves_pixels", "full_depth")}
    levels = {
        name: {**asdict(level), "tables": list(level.tables.items())} for name, level in corruption.levels.items()
    }
    return {**texts, **flags, "levels": levels, "options": list(corruption.options)}


def stand_in(about: Mapping[str, Any]) -> None:
    """Register a corruption by its description, unless it is registered: enough for tables, not to corrupt images."""
    _discover()
    if about["id"] in _by_id:
        return

    def missing(*_: Any, **__: Any) -> None:
        raise BrittleError(
            f"the code of {about['id']} is not loaded, so it cannot be applied; give the Python file that defines it "
            "with --import, or import it"
        )

    missing.__module__ = STAND_IN
    levels = {
        name: Levels(**{**level, "tables": {side: tuple(values) for side, values in level["tables"]}})
        for name, level in about["levels"].items()
    }
    fields = {key: value for key, value in about.items() if key not in ("levels", "options")}
    _by_id[about["id"]] = Corruption(function=missing, levels=levels, options=dict.fromkeys(about["options"]), **fields)


@cache
def _discover() -> None:
    """Import every module of the published sets once; this loads Numba and OpenCV."""
    for folder in SETS:
        package = importlib.import_module(f"brittle.corruptions.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")


def get_corruption(name: str | Corruption) -> Corruption:
    """The corruption of that id, or of that name: the one of imagenet-c, else the only set that has it.

    So "contrast" is "imagenet-c/contrast" though noc has one too, and "blur", which noc and syn2nat have, is refused.

    >>> import brittle
    >>> brittle.get_corruption("fog")
    Corruption(id='imagenet-c/fog', family='weather', source='imagenet-c')
    """
    if isinstance(name, Corruption):
        return name
    if not isinstance(name, str):
        raise BrittleTypeError(f"a corruption is named by a string such as 'fog', got {name!r} ({type(name).__name__})")
    _discover()
    corruption = _by_id.get(name) or _by_id.get(f"{BARE}/{name}")
    if corruption is not None:
        return corruption
    matches = [identity for identity in _by_id if identity.endswith(f"/{name}")]
    if len(matches) == 1:
        return _by_id[matches[0]]
    if matches:
        raise BrittleError(
            f"{name!r} is the name of several corruptions; give one of the ids: {', '.join(sorted(matches))}"
        )
    raise BrittleError(f"there is no corruption {name!r}; {_suggestion(name)}")


def _suggestion(name: str) -> str:
    sources = {identity.partition("/")[0] for identity in _by_id}
    if name in sources:
        return f"{name!r} is a set of corruptions: `brittle list --source {name}` lists them"
    source, _, short_name = name.lower().replace(" ", "_").rpartition("/")
    short_names = sorted({identity.rpartition("/")[2] for identity in _by_id})
    for match in difflib.get_close_matches(short_name.replace("-", "_"), short_names, n=1, cutoff=0.5):
        same_name = [identity for identity in _by_id if identity.endswith(f"/{match}")]
        close_sources = difflib.get_close_matches(
            source.replace("_", "-"), [i.partition("/")[0] for i in same_name], n=1
        )
        suggestions = [f"{close_sources[0]}/{match}"] if close_sources else same_name
        return f"did you mean {' or '.join(map(repr, suggestions))}?"
    return "`brittle list` lists them all"


def list_corruptions(*, source: str | None = None, family: str | None = None) -> list[Corruption]:
    """All corruptions, or those of one source or family, set by set and family by family.

    >>> import brittle
    >>> [corruption.name for corruption in brittle.list_corruptions(source="imagenet-c", family="noise")]
    ['gaussian_noise', 'impulse_noise', 'shot_noise', 'speckle_noise']
    """
    _discover()
    sources = list(dict.fromkeys(c.source for c in _by_id.values()))
    if source is not None and source not in sources:
        raise BrittleError(f"there is no source {source!r}; there are: {', '.join(sources)}")
    if family is not None and family not in FAMILIES:
        raise BrittleError(f"there is no family {family!r}; there are: {', '.join(FAMILIES)}")
    selected = [c for c in _by_id.values() if source in (None, c.source) and family in (None, c.family)]
    return sorted(selected, key=lambda c: (sources.index(c.source), FAMILIES.index(c.family), c.name))
