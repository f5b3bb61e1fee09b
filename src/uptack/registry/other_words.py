"""What people call a statistic in R, pandas, SciPy and SQL, and what to write here instead."""

from __future__ import annotations

ONE_ROW = "It is the value of one row. A quantile is the private counterpart: quantile with p=0.01 or p=0.99."
ROWS = "Rows are never shown. `synthetic` draws rows that look like them."
SIZE = "describe() shows the number of rows if it is public; else use count."
TYPES = "describe() lists the columns and their types."

OTHER_WORDS = {
    **dict.fromkeys(("min", "max", "minimum", "maximum", "range"), ONE_ROW),
    **dict.fromkeys(("groupby", "group_by", "aggregate", "agg"), "Pass by= to a statistic: median(..., by='ward')."),
    **dict.fromkeys(("value_counts", "tabulate", "unique", "nunique", "mode"), "Use histogram."),
    **dict.fromkeys(("spearman", "spearmanr", "pearson", "pearsonr", "cor", "corr"), "Use correlation or kendall_tau."),
    **dict.fromkeys(("ttest", "t_test", "ttest_ind", "welch"), "Use mean_difference: it has Welch's test."),
    **dict.fromkeys(("wilcoxon", "wilcox_test"), "Use mann_whitney for two groups, signed_rank for pairs."),
    **dict.fromkeys(("lm", "ols"), "Use linear_regression."),
    **dict.fromkeys(("glm", "logit"), "Use logistic_regression or poisson_regression."),
    **dict.fromkeys(("average", "avg"), "Use mean."),
    **dict.fromkeys(("percentile", "quantiles"), "Use quantile, with levels such as 0.95."),
    **dict.fromkeys(("var", "sd"), "Use variance or std."),
    **dict.fromkeys(("filter", "query", "loc"), "Use where: session.where('age >= 18')."),
    **dict.fromkeys(("head", "tail", "sample", "rows", "values", "to_pandas"), ROWS),
    **dict.fromkeys(("n", "nrow", "nrows", "length"), SIZE),
    **dict.fromkeys(("columns", "dtypes", "info", "shape", "size"), TYPES),
}
"""Hints by name. None of the names is one of ours: those that are near to one of ours are found by their letters."""
