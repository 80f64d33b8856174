"""Where images come from, and the published layouts they are written to."""

from brittle.datasets.array_file import read_array, read_labels
from brittle.datasets.array_layout import write_arrays
from brittle.datasets.films import find_films, read_film, read_film_array
from brittle.datasets.folder import BrokenImage, find_images, read_image
from brittle.datasets.folder_layout import FORMATS, write_folders
from brittle.datasets.photo import photo
from brittle.datasets.prepare import PREPARATIONS
from brittle.datasets.published import Written

__all__ = [
    "FORMATS",
    "PREPARATIONS",
    "BrokenImage",
    "Written",
    "find_films",
    "find_images",
    "photo",
    "read_array",
    "read_film",
    "read_film_array",
    "read_image",
    "read_labels",
    "write_arrays",
    "write_folders",
]
