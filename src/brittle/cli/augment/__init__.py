"""`brittle augment`: train with augmentations, and how near they come to what is tested."""

from brittle.cli.augment import distance, train

HELP = "Train with augmentations, and measure their distance to the corruptions of a test (MSD)."

VERBS = (
    ("train", train.train_verb, train.EXAMPLES),
    ("distance", distance.distance_verb, distance.EXAMPLES),
    ("leak", distance.leak_verb, distance.LEAK_EXAMPLES),
)

EXAMPLES = (train.EXAMPLES[0], distance.EXAMPLES[0], distance.LEAK_EXAMPLES[0])
