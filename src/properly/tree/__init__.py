"""Classification trees that split by the entropy of any proper loss."""

from properly.tree.classifier import ProperTreeClassifier
from properly.tree.structure import Tree

__all__ = ["ProperTreeClassifier", "Tree"]
