"""scikit-learn's and River's words for a model.

This imports scikit-learn, which takes a second; `import onkel` does not.

Decisions: docs/decisions/estimators.md
"""

from onkel._extras import extra

with extra("sklearn", "an estimator"):
    import sklearn  # noqa: F401

from onkel.estimators.classifier import Classifier
from onkel.estimators.regressor import Regressor
from onkel.estimators.river import to_river
from onkel.estimators.transformer import Transformer

__all__ = ["Classifier", "Regressor", "Transformer", "to_river"]
