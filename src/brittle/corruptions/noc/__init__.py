"""The 23 candidate corruptions of ImageNet-NOC (Laugros, Caplier & Ospici, 2021), of which eight make the
benchmark.

Severity 1 is the published lower end of each range, at which a standard ResNet-18 keeps 0.95 of its accuracy,
and severity 5 the upper end, at which it keeps half. The benchmark draws the severity of each image uniformly
in between. The definitions are those of the authors' code (bds-ailab/common_corruption_benchmark), also where
the paper says otherwise; each docstring says so. Lengths grow with the image; counts stay, since the things
that are counted grow too. The authors' images are real numbers that are never stored; here the result is rounded to
the nearest grey level, halves up.
"""
