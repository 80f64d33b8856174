"""`brittle export`: results in the formats of others, and as evidence."""

from brittle.cli.export import evidence, pictures, scores

HELP = "Export results: for the Hugging Face Hub, RobustBench, FiftyOne, or as evidence for a safety case."

VERBS = (
    ("hf", scores.hf_verb, scores.HF_EXAMPLES),
    ("robustbench", scores.robustbench_verb, scores.ROBUSTBENCH_EXAMPLES),
    ("fiftyone", pictures.fiftyone_verb, pictures.EXAMPLES),
    ("evidence", evidence.evidence_verb, evidence.EXAMPLES),
)

EXAMPLES = (
    scores.HF_EXAMPLES[0],
    scores.ROBUSTBENCH_EXAMPLES[0],
    pictures.EXAMPLES[0],
    evidence.EXAMPLES[0],
)
