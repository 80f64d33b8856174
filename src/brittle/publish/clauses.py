"""The fixed texts of a safety case: the basis of its numbers, its limits, and what standards and law ask for."""

from dataclasses import dataclass

STATISTICS = (
    "All intervals are at 95 %, over images. Those of single shares are Wilson's (1927); all others are bootstraps in "
    "which whole images are drawn again with all their corrupted copies, widened where images are few or a value is "
    "close to 0 or 100 %. The expected calibration error (ECE, 15 bins) of few images is too large, by up to the "
    "noise of its bins, and its interval reaches down as far.",
    "Intervals of rules hold for all rules at once (Bonferroni). A verdict is decided by the interval, never by the "
    "value alone.",
    "An interval says how far other images of the same kind would move a number. It does not cover another training "
    "of the model, another seed of the corruptions, the choice of corruptions and severities, or errors in the labels.",
)

NOT_PROVED = (
    "A model that passes has passed these tests, at these strengths, on these images. In particular:",
    "A corruption is a formula. Passing fog as it is drawn here does not show that the model works in real fog, at "
    "night, with another camera, or under anything that was not drawn; a severity is no visibility in metres.",
    "Synthetic and natural robustness correlate only so far over models (0.65 to 0.75 in the mean, as published). "
    "Images of the real condition are stronger evidence.",
    "Nothing here is about an adversary: corruptions are drawn without knowledge of the model.",
    "A mean can hide a rare and complete failure, or a class that fails: what is rarer than about 3 in n images is "
    "simply not in a sample of n.",
    "The operational design domain, the choice of images, the labels and the bounds of the rules are the author's; "
    "rules that were changed until they passed prove nothing.",
    "The result is of this file of weights alone, and of no system that it is built into.",
)


@dataclass(frozen=True)
class Clause:
    """What a standard or a law asks for, in few words of ours, and the sections of the evidence that speak of it."""

    standard: str
    asks: str
    sections: tuple[str, ...] = ()


NOT_COVERED = "not covered here"

CLAUSES = (
    Clause(
        "ISO/IEC TR 24029-1:2021, statistical methods",
        "metrics of performance, on stated data, with a stated method",
        ("tested", "results", "statistics"),
    ),
    Clause("ISO/IEC TR 24029-1:2021, Annex A", "data perturbation: which changes, how strong", ("conditions",)),
    Clause("ISO/IEC DIS 24029-3 (2025-12)", "specification of the expected behaviour", ("rules",)),
    Clause("ISO/IEC DIS 24029-3 (2025-12)", "performance drops and the response to a perturbation", ("results",)),
    Clause("ISO/IEC DIS 24029-3 (2025-12)", "statistical reliability of what is claimed", ("statistics", "limits")),
    Clause("ISO/IEC 24029-2", "formal methods: proofs for all inputs of a set"),
    Clause(
        "EU AI Act, Art. 15(1)",
        "an appropriate level of accuracy and robustness, kept over the life cycle",
        ("results", "rules"),
    ),
    Clause(
        "EU AI Act, Art. 15(3)",
        "levels of accuracy and their metrics, to be declared in the instructions for use",
        ("tested", "conditions", "results"),
    ),
    Clause(
        "EU AI Act, Art. 15(4)",
        "resilience to errors, faults and inconsistencies within the system or its environment",
        ("conditions", "results", "limits"),
    ),
    Clause("EU AI Act, Art. 15(4)", "feedback loops of systems that keep learning, technical redundancy"),
    Clause("EU AI Act, Art. 15(5)", "cybersecurity: adversarial examples, data and model poisoning"),
)

MAPPING_NOTE = (
    "The table says where this file speaks of what a clause asks for. It is an aid for the author of a safety case, in "
    "words of our own: it is no legal advice, no statement of conformity, and the clauses have to be read themselves. "
    "ISO/IEC DIS 24029-3 was a draft when this was written."
)
