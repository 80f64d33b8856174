"""The 30 candidate corruptions of C-bar (Mintun, Kirillov & Xie, 2021), of which ten make ImageNet-C-bar.

Their severity is the published magnitude, a real number from 0 (clean) to 10. The definitions are those of the
code that made the released sets (facebookresearch/augmentation-corruption, MIT), quirks included; each
docstring names them. The originals take square images of 32 or 224 px; here any image goes, with the shorter
side as the unit of length.
"""
