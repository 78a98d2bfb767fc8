"""Writes golden-scipy.json: what SciPy, or plain enumeration, says, for the tests of package stats.

Run in this directory: python3 golden.py > golden-scipy.json   (made with SciPy 1.17.1, NumPy 2.4.6)
"""
import itertools
import json

import numpy as np
from scipy import stats

rng = np.random.default_rng(20)
cases = []


def case(kind, name, **fields):
    cases.append({"kind": kind, "name": name}
                 | {k: v.tolist() if hasattr(v, "tolist") else v for k, v in fields.items()})


def signed_rank_tails(d):
    """Both tails of the rank sum of the positives over all sign changes; zeros by Pratt, ties by mid-ranks."""
    ranks = stats.rankdata(np.abs(d))[np.asarray(d) != 0]
    t = stats.rankdata(np.abs(d))[np.asarray(d) > 0].sum()
    sums = np.array([np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(ranks))])
    return np.mean(sums <= t + 1e-9), np.mean(sums >= t - 1e-9)


tied = {
    "ties": [1, 1, 2, -1, 3, 3, -2, 5],
    "ties and zeros": [0, 0, 1, 1, -1, 2, 3, 3, 4, 0.5],
    "mostly zeros": [0, 0, 0, 0, 0, 0, 0, 1],
    "all zeros": [0, 0, 0, 0, 0, 0],
    "equal": [2, 2, 2, 2, 2, 2, 2],
    "quantised": np.round(rng.normal(0.4, 1, 14), 0),
}
for name, d in tied.items():
    d = np.asarray(d, float)
    below, above = signed_rank_tails(d)
    case("signedRankP", name, d=d, confidence=0.95, p=min(1, 2 * min(below, above)))
    if name not in ("all zeros",):  # SciPy agrees where it has an answer
        method = stats.PermutationMethod(n_resamples=1 << 20)
        if name != "mostly zeros":
            ours = min(1, 2 * min(below, above))
            theirs = stats.wilcoxon(d, zero_method="pratt", method=method).pvalue
            assert abs(ours - theirs) < 1e-9, (name, ours, theirs)
    for margin in (0.5, 1, 3):
        above = signed_rank_tails(d + margin)[1]
        below = signed_rank_tails(d - margin)[0]
        case("equivalenceSignedRank", name, d=d, margin=margin, p=max(above, below))

for name, x, y in (
    ("ties", [1, 2, 2, 3, 5, 5], [2, 4, 5, 6, 7]),
    ("few levels", np.round(rng.normal(0, 1, 9)), np.round(rng.normal(1, 1, 8))),
    ("all equal", [3, 3, 3, 3], [3, 3, 3, 3, 3]),
):
    x, y = np.asarray(x, float), np.asarray(y, float)
    ranks = stats.rankdata(np.concatenate([x, y]))
    observed = ranks[len(x):].sum()
    sums = np.array([ranks[list(c)].sum() for c in itertools.combinations(range(len(ranks)), len(y))])
    tails = np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9)
    case("rankSumP", name, x=x, y=y, confidence=0.95, p=min(1, 2 * min(tails)))

for name, n in (("six", 6), ("eleven", 11), ("forty", 40)):
    x = np.round(rng.exponential(1, n), 4)
    for confidence in (0.9, 0.95):
        low, high = stats.quantile_test(x, q=0, p=0.5).confidence_interval(confidence)
        case("medianInterval", name, x=x, confidence=confidence, point=np.median(x), lo=low, hi=high)

x = rng.gamma(2, 1, 17)  # drawn so that the cases below stay what they are
for _ in range(2 * 999):
    rng.choice(x, len(x))
for n in (20, 9):
    rng.exponential(1, n)

for n in (6, 8):  # permutations with ties
    x = np.round(rng.normal(0, 1, n), 0)
    y = rng.integers(-1, 2, n).astype(float)
    rx, ry = stats.rankdata(x), stats.rankdata(y)
    centre = n * rx.mean() * ry.mean()
    products = np.array([np.dot(rx, p) for p in itertools.permutations(ry)]) - centre
    case("order", "ties exact", x=x, y=y, p=np.mean(np.abs(products) >= abs(np.dot(rx, ry) - centre) - 1e-9))

for name, x in (("step", np.concatenate([rng.normal(0, 1, 30), rng.normal(2, 1, 25)])),
                ("ties", np.round(rng.normal(0, 1, 41)))):
    x = np.round(x, 4)
    n, best = len(x), (0, -np.inf)
    for k in range(3, n - 2):
        scaled = k * (n - k) / n * stats.energy_distance(x[:k], x[k:]) ** 2
        best = max(best, (k, scaled), key=lambda b: b[1])
    case("energy", name, x=x, n=best[0], point=best[1])



def rank_sum_tails(x, y):
    """Both tails of the rank sum of y over all ways to choose its places; ties by mid-ranks."""
    ranks = stats.rankdata(np.concatenate([x, y]))
    observed = ranks[len(x):].sum()
    sums = np.array([ranks[list(c)].sum() for c in itertools.combinations(range(len(ranks)), len(y))])
    return np.mean(sums <= observed + 1e-9), np.mean(sums >= observed - 1e-9)


for m, n in ((4, 4), (6, 9), (30, 30), (60, 80)):
    for tied in (False, True):
        x, y = (np.round(2 * v) / 2 if tied else np.round(v, 6)
                for v in (rng.normal(10, 1, m), rng.normal(10.4, 1.3, n)))
        name = f"{m}+{n}" + (", ties" if tied else "")
        if tied and m + n <= 50:
            case("rankSumP", name, x=x, y=y, confidence=0.95, p=min(1, 2 * min(rank_sum_tails(x, y))))
            for margin in (0.5, 1, 2):
                case("equivalenceRankSum", name, x=x, y=y, margin=margin,
                     p=max(rank_sum_tails(x, y + margin)[1], rank_sum_tails(x, y - margin)[0]))
        else:
            method = "exact" if max(m, n) <= 50 and not tied else "asymptotic"
            case("rankSumP", name, x=x, y=y, confidence=0.95, p=stats.mannwhitneyu(y, x, method=method).pvalue)
            for margin in (0.3, 0.95, 2):
                case("equivalenceRankSum", name, x=x, y=y, margin=margin,
                     p=max(stats.mannwhitneyu(y + margin, x, alternative="greater", method=method).pvalue,
                           stats.mannwhitneyu(y - margin, x, alternative="less", method=method).pvalue))
        t = stats.ttest_ind(y, x, equal_var=False)
        ci = t.confidence_interval(0.95)
        case("welchT", name, x=x, y=y, confidence=0.95, point=y.mean() - x.mean(), lo=ci.low, hi=ci.high, p=t.pvalue)
        case("welch", name, x=x, y=y, t=t.statistic, df=t.df)
        for margin in (0.3, 0.95, 2):
            case("equivalenceWelch", name, x=x, y=y, margin=margin,
                 p=max(stats.ttest_ind(y + margin, x, equal_var=False, alternative="greater").pvalue,
                       stats.ttest_ind(y - margin, x, equal_var=False, alternative="less").pvalue))

for name, x in (("five", rng.normal(0, 1, 5)), ("rising", rng.normal(0, 1, 60) + np.arange(60) / 20),
                ("ties", np.round(rng.normal(0, 1, 41)))):
    x = np.round(x, 4)
    case("slope", name, x=x, point=stats.theilslopes(x).slope)

rng = np.random.default_rng(21)
for name, x in (("levels", [100.0, 300, 1000]), ("far from zero", [1e6 + 1, 1e6 + 2, 1e6 + 5, 1e6 + 9]),
                ("repeated", [1.0, 1, 2, 2, 4, 4, 8, 8])):
    x = np.asarray(x)
    y = np.round(3 + 0.25 * x + rng.normal(0, 1, len(x)), 4)
    line = stats.linregress(x, y)
    case("line", name, x=x, y=y, point=line.slope, q=line.intercept)

print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")
