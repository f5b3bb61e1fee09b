"""What the pages call each release function, and one plain sentence about it, in the order in which they are listed.

A function that is not listed here, such as one that an institution has declared, has its own name and the first line of
its docstring.
"""

from __future__ import annotations

WORDS = {
    "report": ("report", "A private report of all columns: medians, quartiles, counts."),
    "synthetic": ("synthetic rows", "Made-up rows with about the same one-way and two-way tables as the data."),
    "median": ("median", "The value in the middle, for all rows or for each group."),
    "quantile": ("quantiles", "One quantile or several, such as quartiles or deciles, for one ε."),
    "mean": ("mean", "The arithmetic mean, with a confidence interval."),
    "proportion": ("proportion", "The share of rows with a given value, with a confidence interval."),
    "completeness": ("completeness", "The share of rows that have a value."),
    "sum": ("sum", "The total of a column, with a confidence interval."),
    "std": ("standard deviation", "The standard deviation, with a confidence interval."),
    "variance": ("variance", "The variance, with a confidence interval."),
    "iqr": ("interquartile range", "The distance between the lower and the upper quartile."),
    "ecdf": ("distribution function", "The share of rows up to each value, with a confidence band."),
    "trimmed_mean": ("trimmed mean", "The mean without a share of the smallest and the largest values."),
    "winsorized_mean": ("Winsorized mean", "The mean after a share of the values at each end is pulled in."),
    "mad": ("median absolute deviation", "The median distance from the median."),
    "interquantile_range": ("interquantile range", "The distance between two quantiles."),
    "quantile_interval": ("quantile interval", "A confidence interval for a quantile of the population."),
    "midhinge": ("midhinge", "The mean of the lower and the upper quartile."),
    "trimean": ("trimean", "Tukey's trimean: half the median plus a quarter of each quartile."),
    "histogram": ("histogram", "The number of rows in each category, or in each bin of a numeric column."),
    "count": ("count", "The number of rows, or of rows in which a column is true."),
    "chi_square": ("chi-square test", "Whether two categorical columns are independent, with Cramér's V."),
    "mean_difference": ("difference of means", "The mean of one group minus that of another, with Welch's interval."),
    "median_difference": ("difference of medians", "The median of one group minus that of another."),
    "quantile_difference": ("difference of quantiles", "A quantile of one group minus that of another."),
    "hodges_lehmann": ("Hodges–Lehmann shift", "The median of all differences between rows of two groups."),
    "superiority": ("probability of superiority", "How often a row of one group exceeds a row of another."),
    "rank_biserial": ("rank-biserial correlation", "The probability of superiority on a scale from −1 to 1."),
    "mann_whitney": ("Mann–Whitney test", "Whether two groups have the same distribution."),
    "kruskal_wallis": ("Kruskal–Wallis test", "Whether several groups have the same distribution."),
    "signed_rank": ("Wilcoxon signed-rank test", "Whether a column, or a difference of two, is symmetric about 0."),
    "kendall_tau": ("Kendall's τ", "The rank correlation of two columns."),
    "correlation": ("correlation", "The correlation of two columns, estimated from ranks."),
    "correlation_matrix": ("correlation matrix", "The correlations of several columns, for one ε."),
    "linear_regression": ("linear regression", "Least-squares coefficients with standard errors."),
    "logistic_regression": ("logistic regression", "Log-odds of the second of two classes, with standard errors."),
    "poisson_regression": ("Poisson regression", "Coefficients of a log rate, with standard errors."),
    "quantile_regression": ("quantile regression", "Coefficients of a conditional quantile."),
    "scatter": ("centre and scatter matrix", "A robust centre and covariance of several columns."),
    "hampel_regression": ("robust regression", "Coefficients that outliers in y and in x hardly change."),
    "shortcut_regression": ("regression by blocks", "The median of the fits in random blocks of rows."),
    "kernel_machine": ("kernel machine", "A support vector machine, or logistic or robust regression with a kernel."),
    "kde": ("kernel density", "A Gaussian kernel density of one column."),
    "fourier_density": ("Fourier density", "The density of one to three columns as a Fourier series."),
}
