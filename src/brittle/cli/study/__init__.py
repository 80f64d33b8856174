"""`brittle study`: the experiments of the MSD paper, repeated on one's own data."""

from brittle.cli.study import verbs as distance
from brittle.cli.study import verbs as mixing

EXAMPLES = (*distance.EXAMPLES, *mixing.MIXING_EXAMPLES)

HELP = "Repeat an experiment of the MSD paper on your own data: does distance predict error?"

VERBS = (
    ("distance", distance.distance_study_verb, distance.EXAMPLES),
    ("mixing", mixing.mixing_study_verb, mixing.MIXING_EXAMPLES),
)
