"""scikit-learn's checks of estimators: all pass that give a calibrator as many columns as it takes."""

import pytest
from sklearn.utils import estimator_checks

from properly.calibration import Calibrator
from properly.calibration.methods import METHODS

THREE = "gives one column with three classes or more, which need a score for each class"
SEVERAL = "gives several columns with two classes, which need one score"
INDEXED = "takes the first column itself and then expects two dimensions of it"
EXPECTED = {
    "check_classifiers_classes": THREE,
    "check_classifiers_train": THREE,
    "check_dtype_object": THREE,
    "check_estimators_fit_returns_self": THREE,
    "check_estimators_overwrite_params": THREE,
    "check_fit_score_takes_y": THREE,
    "check_n_features_in_after_fitting": THREE,
    "check_positive_only_tag_during_fit": THREE,
    "check_readonly_memmap_input": THREE,
    "check_sample_weights_list": THREE,
    "check_supervised_y_2d": THREE,
    "check_decision_proba_consistency": SEVERAL,
    "check_estimators_nan_inf": SEVERAL,
    "check_sample_weight_equivalence_on_dense_data": SEVERAL,
    "check_sample_weights_not_overwritten": SEVERAL,
    "check_sample_weights_shape": SEVERAL,
    "check_dict_unchanged": INDEXED,
    "check_dont_overwrite_parameters": INDEXED,
    "check_estimator_sparse_array": INDEXED,
    "check_f_contiguous_array_estimator": INDEXED,
    "check_fit2d_1feature": INDEXED,
    "check_fit2d_1sample": INDEXED,
    "check_fit2d_predict1d": INDEXED,
    "check_methods_sample_order_invariance": INDEXED,
    "check_methods_subset_invariance": INDEXED,
    "check_n_features_in": INDEXED,
}
# What is left where these checks are made to give one column, of two dimensions, and two classes.
OF_ONE_COLUMN = {
    **{name: reason for name, reason in EXPECTED.items() if reason == SEVERAL},
    "check_n_features_in_after_fitting": "leaves out one column of several",
    "check_dtype_object": "expects a TypeError for a dict among the numbers, which is a ValueError here",
    "check_classifier_not_supporting_multiclass": "three classes are supported",
    "check_fit1d": "one dimension is accepted",
    "check_fit2d_predict1d": "one dimension is accepted",
}

every = pytest.mark.parametrize("method", METHODS)


def first_column(estimator, X, X_test=None, kernel=None):
    return X[:, :1] if X_test is None else (X[:, :1], X_test[:, :1])


def failed(method, expected):
    checks = estimator_checks.check_estimator(
        METHODS[method](), expected_failed_checks=expected, on_skip=None, on_fail="raise"
    )
    return {each["check_name"] for each in checks if each["status"] == "xfail"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@every
def test_scikit_learns_checks(method):
    assert failed(method, EXPECTED) == set(EXPECTED)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@every
def test_scikit_learns_checks_with_one_column_and_two_classes(method, monkeypatch):
    tags_of = Calibrator.__sklearn_tags__

    def of_two_classes(calibrator):
        tags = tags_of(calibrator)
        tags.input_tags.one_d_array = tags.classifier_tags.multi_class = False
        return tags

    monkeypatch.setattr(Calibrator, "__sklearn_tags__", of_two_classes)
    monkeypatch.setattr(estimator_checks, "_enforce_estimator_tags_X", first_column)
    assert failed(method, OF_ONE_COLUMN) == set(OF_ONE_COLUMN)
