"""Where scikit-learn's own tests fail with our classes, and why."""

# The names that are substituted, and scikit-learn's files of tests.
SUITES = {
    "logistic": ("LogisticRegression", "linear_model/tests/test_logistic.py"),
    "calibration": ("CalibratedClassifierCV", "tests/test_calibration.py"),
    "isotonic": ("isotonic_regression", "tests/test_isotonic.py"),
    "AdaBoost": ("AdaBoostClassifier", "ensemble/tests/test_weight_boosting.py"),
    "gradient boosting": ("GradientBoostingClassifier", "ensemble/tests/test_gradient_boosting.py"),
    "tree": ("DecisionTreeClassifier", "tree/tests/test_tree.py"),
    "metrics": (
        "log_loss brier_score_loss roc_auc_score d2_log_loss_score d2_brier_score",
        "metrics/tests/test_classification.py metrics/tests/test_ranking.py",
    ),
    "routing": (
        "CalibratedClassifierCV LogisticRegression",
        "tests/test_metaestimators_metadata_routing.py tests/test_metadata_routing.py",
    ),
}

REGRESSORS_TOO = ("AdaBoost", "gradient boosting", "tree")  # whose files test regression as well

_WORDS = "the same error or warning, in other words"
_PARTS = "parts of scikit-learn's own implementation"
_PUBLIC = "attributes and methods that ours do not have (`decision_path`, `oob_score_` and others)"
_PARAMETERS = "a parameter, or a value of it, that ours do not have, and that is ignored here"
_DOUBLE = "everything is calculated in float64"
_ONE_CLASS = "one class in y is refused"
_ONE_COLUMN = "several targets at once are not supported"

# Reasons, and patterns of "name of the test: message".
DIFFERENCES = {
    "logistic": [
        (_DOUBLE, ["^test_dtype_match"]),
        (
            _WORDS,
            [
                "^test_inconsistent_input.*inconsistent numbers of samples",
                "^test_nan: .*contains NaN in column",
                "^test_max_iter.*ConvergenceWarning",
                "^test_newton_cholesky_fallback_to_lbfgs.*ConvergenceWarning",
            ],
        ),
        (_PARTS, ["^test_logreg_predict_proba_multinomial.*_predict_proba_lr", "callback"]),
        (
            _PARAMETERS,
            [
                "^test_check_solver_option",
                "^test_elasticnet_l1_ratio_err_helpful",
                "^test_liblinear_",
                "^test_l1_ratio_",
                "^test_penalty_",
                "^test_logisticregression_warns_with_n_jobs",
                "^test_lr_penalty_l1ratio_incompatible",
            ],
        ),
        ("sparse matrices with 64-bit indices are accepted", ["^test_large_sparse_matrix.*DID NOT RAISE"]),
        ("a fit of no iteration is refused", ["^test_zero_max_iter.*at least 1, got 0"]),
        (
            "compares with LogisticRegressionCV, whose own solver stops at a tolerance of 1e-4 and ours at 1e-8",
            ["^test_logistic_cv"],
        ),
        (
            "without a penalty the classes are separable and coefficients have no limit: where they stop is arbitrary",
            [r"^test_warm_start_newton_solver\[inf"],
        ),
    ],
    "calibration": [
        ("the number of folds is lowered to the rows of the rarest class", [r"^test_calibration\[.*DID NOT RAISE"]),
        (
            "leaving out one row at a time is possible, as one calibrator is fitted to all",
            ["^test_calibration_cv_nfold"],
        ),
        (
            "isotonic calibration is a step by default, theirs interpolates",
            ["^test_calibration_ensemble_false.isotonic"],
        ),
        (_PARTS, ["^test_temperature_scaling.*has no attribute"]),
        (
            "a class that no fold can calibrate is refused; scikit-learn gives it probability 0",
            ["^test_calibration_less_classes.*have none of class"],
        ),
    ],
    "isotonic": [(_DOUBLE, ["^test_isotonic_dtype"])],
    "AdaBoost": [
        (_ONE_CLASS, ["^test_oneclass_adaboost_proba.*one class only"]),
        ("more than two classes go through OneVsRestClassifier", ["Only binary classification", "^test_gridsearch"]),
        ("labels of several kinds are refused", ["mixes 'foo' with 1"]),
        ("weights are kept as logarithms and do not overflow", ["^test_sample_weights_infinite"]),
        ("features have two dimensions, whatever the base model takes", ["^test_multidimensional_X"]),
        (_WORDS, ["must take sample_weight", "sample_weight must not be negative"]),
    ],
    "gradient boosting": [
        (_PARTS, ["has no attribute '(_loss|train_score_|max_depth|tree_|min_impurity_decrease)'"]),
        (_PUBLIC, ["has no attribute '(max_features_|oob_.*_)'"]),
        (
            _PARAMETERS,
            [
                "^test_raise_if_init_has_no_predict_proba",
                "^test_verbose_output",
                "^test_more_verbose_output",
                "^test_warm_start_smaller_n_estimators",
                "unexpected keyword argument 'monitor'",
                "^test_gradient_boosting_with_init",
                "^test_criterion_param_deprecation",
                "^test_classification_synthetic",  # compares subsample=0.5 with none
                "^test_early_stopping_stratified",
                "^test_early_stopping_n_classes",
                "^test_gradient_boosting_early_stopping",
                "^test_gradient_boosting_validation_fraction",
            ],
        ),
        ("the boosting loss has several classes, too", ["^test_exponential_n_classes_gt_2.*DID NOT RAISE"]),
        ("a class whose rows all have weight 0 has probability 0", ["^test_single_class_with_sample_weight"]),
        ("trees are LightGBM's, with at least 20 rows a leaf", ["^test_(bi|multi)nomial_error_exact_backward_compat"]),
    ],
    "tree": [
        (_PARTS, ["'Tree' object has no attribute 'capacity'", "has no attribute 'n_outputs_'"]),
        (_PUBLIC, ["has no attribute '(decision_path|max_features_)'"]),
        (
            "min_samples_leaf is a weight, which may be below 1, and no share of the rows",
            ["^test_min_samples_leaf", "^test_min_weight_leaf_split_level"],
        ),
        ("leaves have no threshold, theirs have -2", ["^test_prune_tree_classifier_are_subtrees.*-2"]),
        ("splits that do not lower the loss are removed", ["^test_with_only_one_non_constant_features"]),
        (_ONE_CLASS, ["y holds one class only"]),
        (_ONE_COLUMN, ["y should be a 1d array, got an array of shape"]),
        ("weights must not all be 0", ["^test_sample_weight_invalid.*zero for every row"]),
        (
            _PARAMETERS,
            [
                "^test_max_leaf_nodes",
                "^test_huge_allocations",
                "^test_min_sample_split_1_error",
                "^test_importances_gini",
                "^test_min_samples_split",
                "^test_min_weight_fraction_leaf",
            ],
        ),
        (_DOUBLE, ["^test_big_input.*DID NOT RAISE", "^test_almost_constant_feature"]),
    ],
    "metrics": [
        (_WORDS, ["Regex pattern did not match"]),
        ("nothing is clipped: a class that occurred with probability 0 costs infinitely much", ["^test_log_loss_eps"]),
        (
            "probabilities that do not add up to 1 are an error, not a warning",
            ["not_probabilities_warning", "_warnings"],
        ),
        (_PARAMETERS, ["y_pred_deprecation", "^test_partial_roc_auc_score"]),
        (_ONE_COLUMN, ["y should be a 1d array"]),
        ("a forecast that rules out what happens has an infinite loss", ["^test_d2_log_loss_score_missing_labels"]),
        (
            "an area under the curve is that of two classes, of probabilities",
            ["defined for two classes", "^test_score_scale"],
        ),
        ("without rows of both classes there is no ranking: an error, not a warning", ["UndefinedMetricWarning"]),
    ],
    "routing": [
        (
            "their test double has one column of scores for three classes; three columns are needed",
            [r"\[CalibratedClassifierCV\]: ValueError: scores must have shape"],
        )
    ],
}
