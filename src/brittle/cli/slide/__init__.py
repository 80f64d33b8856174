"""`brittle slide`: shifts that no formula can draw, from training a slider to the filtered images."""

from brittle.cli.slide import demo, label, measure, sample, token, train
from brittle.cli.slide import filter as filter_

EXAMPLES = (
    ("brittle slide demo", "all steps on the bundled demo pipeline, nothing to fetch"),
    *train.EXAMPLES[:1],
    *sample.EXAMPLES[:1],
    *measure.EXAMPLES[:1],
    *label.EXAMPLES[:1],
    *filter_.EXAMPLES[:1],
    ("brittle run -m timm:resnet50 -d cns-bench:slides/ --keep filtered/kept.csv -o run", "then: test models on them"),
)

HELP = (
    "Slide images along a shift: train LoRA sliders on a diffusion model, draw, measure, label and filter (CNS-Bench)."
)

VERBS = (
    ("token", token.token_verb, token.EXAMPLES),
    ("train", train.train_verb, train.EXAMPLES),
    ("sample", sample.sample_verb, sample.EXAMPLES),
    ("measure", measure.measure_verb, measure.EXAMPLES),
    ("label", label.label_verb, label.EXAMPLES),
    ("filter", filter_.filter_verb, filter_.EXAMPLES),
    ("demo", demo.demo_verb, demo.EXAMPLES),
)
