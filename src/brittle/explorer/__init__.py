"""The page people play with: a local web app over models, pictures and results."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.explorer.app import create_app
    from brittle.explorer.safety import is_loopback
    from brittle.explorer.server import Explorer, explore
    from brittle.explorer.state import State

LAZY = {"create_app": "app", "Explorer": "server", "explore": "server", "State": "state", "is_loopback": "safety"}
"""What needs the extra `explore`: loaded when it is first asked for."""

__all__ = ["Explorer", "State", "create_app", "explore", "is_loopback"]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module(f"brittle.explorer.{LAZY[name]}"), name)
    raise AttributeError(f"brittle.explorer has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
