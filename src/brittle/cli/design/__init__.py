"""`brittle design`: which corruptions measure the same thing, and benchmarks of those that do not."""

from brittle.cli.design import balance, build, calibrate, categories, correlate, coverage, dissimilar, overlap

HELP = "Design a benchmark: measure overlaps, find categories, check coverage and balance, build a recipe."

VERBS = (
    ("calibrate", calibrate.calibrate_verb, calibrate.EXAMPLES),
    ("overlap", overlap.overlap_verb, overlap.EXAMPLES),
    ("categories", categories.categories_verb, categories.EXAMPLES),
    ("agree", categories.agree_verb, categories.AGREE_EXAMPLES),
    ("coverage", coverage.coverage_verb, coverage.EXAMPLES),
    ("balance", balance.balance_verb, balance.EXAMPLES),
    ("correlate", correlate.correlate_verb, correlate.EXAMPLES),
)

GROUPS = (
    (
        "build",
        "Build a benchmark: corruptions that do not overlap, that balance categories, or that are far away.",
        (
            ("non-overlapping", build.non_overlapping_verb, build.NON_OVERLAPPING),
            ("balanced", build.balanced_verb, build.BALANCED),
            ("dissimilar", dissimilar.dissimilar_verb, dissimilar.DISSIMILAR),
        ),
    ),
)

EXAMPLES = (
    overlap.EXAMPLES[0],
    categories.EXAMPLES[0],
    build.NON_OVERLAPPING[0],
    build.BALANCED[0],
)
