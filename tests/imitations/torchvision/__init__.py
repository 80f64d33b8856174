"""Nothing of torchvision: timm wants it beside itself, and the imitation of timm does not use it."""
