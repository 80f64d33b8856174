"""Where images come from, and the published layouts they are written to."""

from brittle.datasets.array_file import read_array, read_labels
from brittle.datasets.array_layout import write_arrays
from brittle.datasets.cifar import CIFAR10_TEST_DIGEST, CIFAR10_TRAIN_DIGEST, cifar10, cifar10_digest, cifar100
from brittle.datasets.cifar_c import array_corruptions, cifar_c
from brittle.datasets.cns_bench import cns_bench
from brittle.datasets.dataset import Dataset
from brittle.datasets.demo_set import demo
from brittle.datasets.fashion_mnist import fashion_mnist
from brittle.datasets.films import find_films, read_film, read_film_array
from brittle.datasets.folder import BrokenImage, find_images, read_image
from brittle.datasets.folder_layout import FORMATS, write_folders
from brittle.datasets.foreign import from_hugging_face, from_torch
from brittle.datasets.from_arrays import array_file, arrays
from brittle.datasets.image_folder import image_folder
from brittle.datasets.imagenet_c import folder_corruptions, imagenet_c, tiny_imagenet_c
from brittle.datasets.load_dataset import SCHEMES, load_dataset
from brittle.datasets.natural_shifts import imagenet, imagenet_a, imagenet_r, imagenet_sketch, imagenet_v2
from brittle.datasets.objectnet import objectnet
from brittle.datasets.photo import photo
from brittle.datasets.prepare import PREPARATIONS
from brittle.datasets.published import Written

__all__ = [
    "CIFAR10_TEST_DIGEST",
    "CIFAR10_TRAIN_DIGEST",
    "FORMATS",
    "PREPARATIONS",
    "SCHEMES",
    "BrokenImage",
    "Dataset",
    "Written",
    "array_corruptions",
    "array_file",
    "arrays",
    "cifar10",
    "cifar10_digest",
    "cifar100",
    "cifar_c",
    "cns_bench",
    "demo",
    "fashion_mnist",
    "find_films",
    "find_images",
    "folder_corruptions",
    "from_hugging_face",
    "from_torch",
    "image_folder",
    "imagenet",
    "imagenet_a",
    "imagenet_c",
    "imagenet_r",
    "imagenet_sketch",
    "imagenet_v2",
    "load_dataset",
    "objectnet",
    "photo",
    "read_array",
    "read_film",
    "read_film_array",
    "read_image",
    "read_labels",
    "tiny_imagenet_c",
    "write_arrays",
    "write_folders",
]
