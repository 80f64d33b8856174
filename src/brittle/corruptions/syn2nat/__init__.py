"""The 40 candidate corruptions of the Syn2Nat study (Laugros, Caplier & Ospici, 2021), of which 18 make ImageNet-
Syn2Nat.

They are transforms of albumentations 0.5.2 with random parameters, a fresh draw for each image. The paper has
no severities: severity 5 is the published range, and lower severities shrink the parameters evenly towards
those that change nothing. Some are on or off, and say so.
"""
