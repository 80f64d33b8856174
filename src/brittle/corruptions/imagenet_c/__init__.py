"""The 19 corruptions of ImageNet-C (Hendrycks & Dietterich, 2019), with the published tables for four image sizes.

The definitions are those of the code that made the released sets (hendrycks/robustness, Apache-2.0), quirks
included; each docstring names them. Fifteen make the benchmark; speckle_noise, gaussian_blur, spatter and
saturate are the extra ones for validation.
"""
