"""Model files without pickle: saved whole or not at all, and loaded without running code."""

from properly.persistence.model_file import load, load_metadata, load_versions, save
from properly.persistence.schema import ModelFileError

__all__ = ["ModelFileError", "load", "load_metadata", "load_versions", "save"]
