"""The faster of torch's two libraries for float32 products on a CPU."""


def use_onednn() -> None:
    """Have oneDNN multiply float32 matrices where it does so in float32: in half the time of torch's default, MKL.

    It is asked for by allowing bf16 inside. CPUs that then round to bf16 (with AMX) keep the default.
    """
    import torch

    products = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    default = products.fp32_precision
    products.fp32_precision = "bf16"
    if not computes_float32():
        products.fp32_precision = default


def computes_float32() -> bool:
    """Whether products of float32 matrices keep nine bits, one more than bf16 has."""
    import torch

    exact = torch.full((256, 256), 257.0)
    return bool(((exact @ torch.eye(256)) == exact).all())
