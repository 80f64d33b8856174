"""Where images come from, and the published layouts they are written to."""

from brittle.datasets.array_files import array_file, arrays, fashion_mnist, read_array, read_labels
from brittle.datasets.cifar import (
    CIFAR10_TEST_DIGEST,
    CIFAR10_TRAIN_DIGEST,
    array_corruptions,
    cifar10,
    cifar10_digest,
    cifar100,
    cifar_c,
    demo,
)
from brittle.datasets.classes import imagenet_names, read_class_names
from brittle.datasets.cns import cns_bench
from brittle.datasets.dataset import Dataset, dataset_source, no_labels
from brittle.datasets.export import FORMATS, Written, write_arrays, write_folders
from brittle.datasets.fetch import fetch_cifar10
from brittle.datasets.folders import image_folder, split
from brittle.datasets.imagenet_sets import (
    folder_corruptions,
    imagenet,
    imagenet_100,
    imagenet_a,
    imagenet_a_clean,
    imagenet_c,
    imagenet_r,
    imagenet_r_clean,
    imagenet_sketch,
    imagenet_v2,
    objectnet,
    tiny_imagenet_c,
)
from brittle.datasets.images import (
    PREPARATIONS,
    UnreadableImage,
    find_images,
    photo,
    preparation_sizes,
    read_image,
    square,
)
from brittle.datasets.interop import from_hugging_face, from_torch
from brittle.datasets.load import (
    StoredSet,
    dataset_options,
    dataset_sources,
    has_training_part,
    load_dataset,
    shift_cells,
    stored_set,
)
from brittle.datasets.sequences import find_sequences, read_sequence, read_sequence_array

__all__ = [
    "CIFAR10_TEST_DIGEST",
    "CIFAR10_TRAIN_DIGEST",
    "FORMATS",
    "PREPARATIONS",
    "Dataset",
    "StoredSet",
    "UnreadableImage",
    "Written",
    "array_corruptions",
    "array_file",
    "arrays",
    "cifar10",
    "cifar10_digest",
    "cifar100",
    "cifar_c",
    "cns_bench",
    "dataset_options",
    "dataset_source",
    "dataset_sources",
    "demo",
    "fashion_mnist",
    "fetch_cifar10",
    "find_images",
    "find_sequences",
    "folder_corruptions",
    "from_hugging_face",
    "from_torch",
    "has_training_part",
    "image_folder",
    "imagenet",
    "imagenet_100",
    "imagenet_a",
    "imagenet_a_clean",
    "imagenet_c",
    "imagenet_names",
    "imagenet_r",
    "imagenet_r_clean",
    "imagenet_sketch",
    "imagenet_v2",
    "load_dataset",
    "no_labels",
    "objectnet",
    "photo",
    "preparation_sizes",
    "read_array",
    "read_class_names",
    "read_image",
    "read_labels",
    "read_sequence",
    "read_sequence_array",
    "shift_cells",
    "split",
    "square",
    "stored_set",
    "tiny_imagenet_c",
    "write_arrays",
    "write_folders",
]
