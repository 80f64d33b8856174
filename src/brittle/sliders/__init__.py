"""Shifts no formula can draw: LoRA sliders on diffusion models, and the out-of-class filter (CNS-Bench, ICCV 2025)."""

from brittle.models.load_pipeline import load_pipeline
from brittle.sliders.annotations import write_annotations
from brittle.sliders.base import Base
from brittle.sliders.class_token import ClassToken, add_token, load_token, load_tokens, save_tokens, token_text
from brittle.sliders.clip_prompts import CODE_PROMPTS, PAPER_PROMPTS, ClipPrompts
from brittle.sliders.cns_scores import CnsScores, cns_scores
from brittle.sliders.encoders import Clip, ImageEncoder
from brittle.sliders.find_sliders import FoundSlider, find_sliders
from brittle.sliders.image_scores import FILTER_SCORES, ImageScores, image_scores
from brittle.sliders.judge import judge_labels
from brittle.sliders.labelling_page import write_labelling_page
from brittle.sliders.load_slider import load_published_slider, load_slider
from brittle.sliders.objective import slider_loss, slider_target
from brittle.sliders.ooc_filter import kept_samples, ooc_filter
from brittle.sliders.ooc_labels import LABELS, read_labels, write_labels
from brittle.sliders.ooc_quality import FilterQuality, compare_filters, filter_quality, held_out_filters
from brittle.sliders.ooc_thresholds import choose_thresholds, published_thresholds, read_thresholds, write_thresholds
from brittle.sliders.open_clip_encoder import OpenClip, load_clip
from brittle.sliders.placement import slider_layers
from brittle.sliders.sample_sliders import Pick, sample_sliders
from brittle.sliders.sampling import Sampling
from brittle.sliders.schedulers import SCHEDULERS
from brittle.sliders.shift_curves import rises_throughout, shift_curves
from brittle.sliders.shifts import NEGATIVE_PROMPT, SCALES, published_shift, published_shifts, shift_folder, shift_words
from brittle.sliders.slid_class import SlidClass, class_names, find_class
from brittle.sliders.slide import slide
from brittle.sliders.slider import Slider
from brittle.sliders.slides_set import slides_set
from brittle.sliders.train_slider import train_slider
from brittle.sliders.train_sliders import TrainedSliders, slider_name, train_sliders
from brittle.sliders.train_token import train_token
from brittle.sliders.trajectories import Trajectories, trajectories
from brittle.sliders.two_prompts import two_prompts
from brittle.sliders.world import TinyWorld, tiny_world
from brittle.sliders.write_slides import WrittenSlides, write_slides, write_two_prompts

__all__ = [
    "CODE_PROMPTS",
    "FILTER_SCORES",
    "LABELS",
    "NEGATIVE_PROMPT",
    "PAPER_PROMPTS",
    "SCALES",
    "SCHEDULERS",
    "Base",
    "ClassToken",
    "Clip",
    "ClipPrompts",
    "CnsScores",
    "FilterQuality",
    "FoundSlider",
    "ImageEncoder",
    "ImageScores",
    "OpenClip",
    "Pick",
    "Sampling",
    "SlidClass",
    "Slider",
    "TinyWorld",
    "TrainedSliders",
    "Trajectories",
    "WrittenSlides",
    "add_token",
    "choose_thresholds",
    "class_names",
    "cns_scores",
    "compare_filters",
    "filter_quality",
    "find_class",
    "find_sliders",
    "held_out_filters",
    "image_scores",
    "judge_labels",
    "kept_samples",
    "load_clip",
    "load_pipeline",
    "load_published_slider",
    "load_slider",
    "load_token",
    "load_tokens",
    "ooc_filter",
    "published_shift",
    "published_shifts",
    "published_thresholds",
    "read_labels",
    "read_thresholds",
    "rises_throughout",
    "sample_sliders",
    "save_tokens",
    "shift_curves",
    "shift_folder",
    "shift_words",
    "slide",
    "slider_layers",
    "slider_loss",
    "slider_name",
    "slider_target",
    "slides_set",
    "tiny_world",
    "token_text",
    "train_slider",
    "train_sliders",
    "train_token",
    "trajectories",
    "two_prompts",
    "write_annotations",
    "write_labelling_page",
    "write_labels",
    "write_slides",
    "write_thresholds",
    "write_two_prompts",
]
