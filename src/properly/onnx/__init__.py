"""Models for other runtimes: ONNX graphs that give the same probabilities."""

from properly.onnx.convert import to_onnx

__all__ = ["to_onnx"]
