"""What a network of the imitation wants to be shown."""


def resolve_model_data_config(network: object) -> dict[str, object]:
    assert network is not None
    half, one = (0.5, 0.5, 0.5), (1.0, 1.0, 1.0)
    size = {"input_size": (3, 224, 224), "crop_pct": 0.875, "crop_mode": "center", "interpolation": "bicubic"}
    return {**size, "mean": half, "std": one}
