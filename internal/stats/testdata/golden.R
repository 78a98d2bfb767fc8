# Writes golden-r.json: what R says, for the tests of package stats.
# Run in this directory: Rscript golden.R > golden-r.json   (R and its package
# diptest, made with 4.2.2 and 0.76)

num <- function(x) {
  s <- ifelse(is.finite(x), sprintf("%.17g", x), "null")
  if (length(x) == 1) s else paste0("[", paste(s, collapse = ","), "]")
}
list_of <- function(x) paste0("[", paste(sprintf("%.17g", x), collapse = ","), "]")
cases <- character()
case <- function(.kind, .name, ...) {
  fields <- list(...)
  body <- paste0('"', names(fields), '":', unlist(fields), collapse = ",")
  cases[[length(cases) + 1]] <<- sprintf('{"kind":"%s","name":"%s",%s}', .kind, .name, body)
}

options(warn = 2) # an unexpected tie is an error
set.seed(20)
short <- function(x) round(x, 6)

# Hollander & Wolfe (1973), p. 29: depression scale before and after a tranquilizer.
depression <- c(0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29) -
  c(1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)
# Hollander & Wolfe (1973), p. 69: permeability of a membrane at term and at 12 to 26 weeks.
term <- c(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)
weeks <- c(1.15, 0.88, 0.90, 0.74, 1.21)

paired <- list(depression = depression, six = short(rnorm(6, 1)), seven = short(rnorm(7)),
  twelve = short(rnorm(12, 0.3)), thirty = short(rt(30, 3)), fifty = short(rexp(50) - 0.8),
  hundred = short(rnorm(100, 0.1)), twohundred = rnorm(200, 0.05))
for (name in names(paired)) {
  d <- paired[[name]]
  for (level in c(0.9, 0.95, 0.99)) {
    if (2 * 2^-length(d) > 1 - level) next
    w <- wilcox.test(d, conf.int = TRUE, conf.level = level, exact = TRUE)
    case("signedRank", name, d = list_of(d), confidence = num(level), point = num(unname(w$estimate)),
      lo = num(w$conf.int[1]), hi = num(w$conf.int[2]), p = num(w$p.value))
    t <- t.test(d, conf.level = level)
    case("pairedT", name, d = list_of(d), confidence = num(level), point = num(unname(t$estimate)),
      lo = num(t$conf.int[1]), hi = num(t$conf.int[2]), p = num(t$p.value))
  }
  for (margin in c(0.2, 0.5, 1)) {
    less <- wilcox.test(d, mu = margin, alternative = "less", exact = TRUE)$p.value
    greater <- wilcox.test(d, mu = -margin, alternative = "greater", exact = TRUE)$p.value
    case("equivalenceSignedRank", name, d = list_of(d), margin = num(margin), p = num(max(less, greater)))
    less <- t.test(d, mu = margin, alternative = "less")$p.value
    greater <- t.test(d, mu = -margin, alternative = "greater")$p.value
    case("equivalenceT", name, d = list_of(d), margin = num(margin), p = num(max(less, greater)))
  }
}
# Student (1908): extra hours of sleep.
case("pairedT", "sleep", d = list_of(with(sleep, extra[group == 1] - extra[group == 2])), confidence = "0.95",
  point = num(-1.58), lo = num(t.test(Pair(sleep$extra[1:10], sleep$extra[11:20]) ~ 1)$conf.int[1]),
  hi = num(t.test(Pair(sleep$extra[1:10], sleep$extra[11:20]) ~ 1)$conf.int[2]),
  p = num(t.test(Pair(sleep$extra[1:10], sleep$extra[11:20]) ~ 1)$p.value))
for (n in c(2, 3, 5)) {
  d <- short(rnorm(n, 0.5))
  t <- t.test(d)
  case("pairedT", paste0("n", n), d = list_of(d), confidence = "0.95", point = num(unname(t$estimate)),
    lo = num(t$conf.int[1]), hi = num(t$conf.int[2]), p = num(t$p.value))
}
# Beyond the exact sizes: the P of the normal approximation, without and with ties.
for (d in list(rnorm(250, 0.05), rnorm(1000, 0.05), round(rnorm(150, 0.3), 1) + 0.05)) {
  case("signedRankP", paste0("large", length(d)), d = list_of(d), confidence = "0.95",
    p = num(wilcox.test(d, exact = FALSE, correct = TRUE)$p.value))
}

unpaired <- list(permeability = list(term, weeks), four = list(short(rnorm(4)), short(rnorm(4, 2))),
  threefive = list(short(rnorm(3)), short(rnorm(5, 1))), twelve = list(short(rnorm(12)), short(rnorm(9, 0.7, 2))),
  fifty = list(short(rexp(50)), short(rexp(48) + 0.2)))
for (name in names(unpaired)) {
  x <- unpaired[[name]][[1]]
  y <- unpaired[[name]][[2]]
  for (level in c(0.9, 0.95)) {
    w <- wilcox.test(y, x, conf.int = TRUE, conf.level = level, exact = TRUE)
    case("rankSum", name, x = list_of(x), y = list_of(y), confidence = num(level), point = num(unname(w$estimate)),
      lo = num(w$conf.int[1]), hi = num(w$conf.int[2]), p = num(w$p.value))
    t <- t.test(y, x, conf.level = level)
    case("welchT", name, x = list_of(x), y = list_of(y), confidence = num(level), point = num(mean(y) - mean(x)),
      lo = num(t$conf.int[1]), hi = num(t$conf.int[2]), p = num(t$p.value))
  }
}
for (pair in list(list(rnorm(60), rnorm(80, 0.2)), list(round(rnorm(60), 1), round(rnorm(30, 0.4), 1)))) {
  case("rankSumP", "large", x = list_of(pair[[1]]), y = list_of(pair[[2]]), confidence = "0.95",
    p = num(wilcox.test(pair[[2]], pair[[1]], exact = FALSE, correct = TRUE)$p.value))
}
case("welchT", "sleep", x = list_of(sleep$extra[1:10]), y = list_of(sleep$extra[11:20]), confidence = "0.95",
  point = num(1.58), lo = num(t.test(sleep$extra[11:20], sleep$extra[1:10])$conf.int[1]),
  hi = num(t.test(sleep$extra[11:20], sleep$extra[1:10])$conf.int[2]),
  p = num(t.test(sleep$extra[11:20], sleep$extra[1:10])$p.value))

for (p in list(c(0.01, 0.04, 0.03, 0.005), c(0.5, 0.6, 0.9), round(runif(12), 4)^2)) {
  case("holm", "holm", x = list_of(p), y = list_of(p.adjust(p, "holm")))
}

for (n in c(2, 3, 6, 12, 50, 400)) for (delta in c(0.1, 0.5, 1, 3)) for (level in c(0.05, 0.005)) {
  w <- power.t.test(n = n, delta = delta, sd = 1.5, sig.level = level, type = "paired", strict = TRUE)
  case("power", "power", n = num(n), effect = num(delta), sd = "1.5", alpha = num(level), p = num(w$power))
}
for (n in c(2, 3, 6, 12, 50, 400)) for (power in c(0.8, 0.95)) {
  w <- power.t.test(n = n, power = power, sd = 0.03, sig.level = 0.05, type = "paired", strict = TRUE, tol = 1e-13)
  case("detectable", "detectable", n = num(n), sd = "0.03", alpha = "0.05", power = num(power), point = num(w$delta))
}
for (delta in c(0.01, 0.02, 0.05, 0.2)) {
  w <- power.t.test(delta = delta, power = 0.8, sd = 0.03, sig.level = 0.05, type = "paired", strict = TRUE, tol = 1e-10)
  case("rounds", "rounds", effect = num(delta), sd = "0.03", alpha = "0.05", power = "0.8", n = num(ceiling(w$n)))
}

for (probability in c(0, 0.1, 0.25, 0.5, 0.9, 0.99, 1)) {
  case("quantile", "type 7", x = list_of(sort(term)), q = num(probability), point = num(unname(quantile(term, probability, type = 7))))
}
case("lag1", "lh", x = list_of(lh), point = num(acf(lh, plot = FALSE)$acf[2]))
case("lag1", "depression", x = list_of(depression), point = num(acf(depression, plot = FALSE)$acf[2]))

# Spearman's rank correlation, exact without ties up to n = 9, as t with ties beyond.
for (n in c(5, 7, 8)) {
  x <- short(rnorm(n))
  y <- sample(n)
  case("order", paste0("exact", n), x = list_of(x), y = list_of(y), p = num(cor.test(x, y, method = "spearman", exact = TRUE)$p.value))
}
for (n in c(12, 30)) {
  x <- short(rnorm(n))
  y <- sample(-3:3, n, TRUE)
  case("order", paste0("ties", n), x = list_of(x), y = list_of(y), p = num(cor.test(x, y, method = "spearman", exact = FALSE)$p.value))
}

pilot <- c(0.021, 0.035, 0.018, 0.040, 0.027, 0.031)
for (half in c(0.02, 0.005, 0.001)) {
  n <- max(length(pilot), ceiling((qt(0.975, 5) * sd(pilot) / half)^2))
  d <- c(pilot, short(rnorm(14, 0.03, 0.01)))
  h <- qt(0.975, 5) * sd(pilot) / sqrt(20)
  case("stein", "stein", x = list_of(pilot), d = list_of(d), halfWidth = num(half), n = num(n), point = num(mean(d)),
    lo = num(mean(d) - h), hi = num(mean(d) + h), p = num(2 * pt(-mean(d) / sd(pilot) * sqrt(20), 5)))
}
case("changepoints", "Nile", x = list_of(Nile))

# Two samples of the sizes that imports bring, without and with ties.
for (size in list(c(4, 4), c(6, 9), c(30, 30), c(60, 80))) for (tied in c(FALSE, TRUE)) {
  grid <- if (tied) function(v) round(2 * v) / 2 else short
  x <- grid(rnorm(size[1], 10))
  y <- grid(rnorm(size[2], 10.4, 1.3))
  name <- paste0(size[1], "+", size[2], if (tied) ", ties" else "")
  exact <- !tied && max(size) <= 50
  if (exact) {
    w <- wilcox.test(y, x, conf.int = TRUE, exact = TRUE)
    case("rankSum", name, x = list_of(x), y = list_of(y), confidence = "0.95", point = num(unname(w$estimate)),
      lo = num(w$conf.int[1]), hi = num(w$conf.int[2]), p = num(w$p.value))
  } else {
    # What wilcox.test does in exact cases: order statistics of the differences.
    differences <- sort(outer(y, x, "-"))
    k <- max(1, qwilcox(0.025, size[1], size[2]))
    case("rankSumInterval", name, x = list_of(x), y = list_of(y), confidence = "0.95", point = num(median(differences)),
      lo = num(differences[k]), hi = num(differences[length(differences) + 1 - k]))
  }
  if (exact || sum(size) > 50) { # smaller ones with ties: golden.py
    if (!exact) case("rankSumP", name, x = list_of(x), y = list_of(y), confidence = "0.95",
      p = num(wilcox.test(y, x, exact = FALSE, correct = TRUE)$p.value))
    for (margin in c(0.3, 0.95, 2)) {
      less <- wilcox.test(y, x, mu = margin, alternative = "less", exact = exact)$p.value
      greater <- wilcox.test(y, x, mu = -margin, alternative = "greater", exact = exact)$p.value
      case("equivalenceRankSum", name, x = list_of(x), y = list_of(y), margin = num(margin), p = num(max(less, greater)))
    }
  }
  t <- t.test(y, x)
  case("welchT", name, x = list_of(x), y = list_of(y), confidence = "0.95", point = num(mean(y) - mean(x)),
    lo = num(t$conf.int[1]), hi = num(t$conf.int[2]), p = num(t$p.value))
  case("welch", name, x = list_of(x), y = list_of(y), t = num(unname(t$statistic)), df = num(unname(t$parameter)))
  for (margin in c(0.3, 0.95, 2)) {
    less <- t.test(y, x, mu = margin, alternative = "less")$p.value
    greater <- t.test(y, x, mu = -margin, alternative = "greater")$p.value
    case("equivalenceWelch", name, x = list_of(x), y = list_of(y), margin = num(margin), p = num(max(less, greater)))
  }
}

# Mann and Kendall's test is Kendall's tau against the order.
for (n in c(4, 7, 12, 49)) {
  x <- short(rnorm(n) + 0.02 * seq_len(n))
  case("trendP", paste("exact", n), x = list_of(x), p = num(cor.test(x, seq_along(x), method = "kendall", exact = TRUE)$p.value))
}
for (x in list(round(rnorm(12, 0, 2)), round(rnorm(200) + seq_len(200) / 150, 1), rnorm(400))) {
  case("trendP", paste("large or tied", length(x)), x = list_of(x),
    p = num(cor.test(x, seq_along(x), method = "kendall", exact = FALSE, continuity = TRUE)$p.value))
}

# Hartigan's dip; statfaculty are the 63 values of Hartigan & Hartigan (1985). With ties, our p is another one.
library(diptest)
data(statfaculty)
for (x in list(statfaculty, short(rnorm(9)), short(rnorm(30)), short(c(rnorm(25), rnorm(15, 4))), round(rnorm(60, 0, 3)),
  c(1, 1, 1, 1, 2), 1:12, short(rexp(300)), short(c(rnorm(500), rnorm(700, 2.6))), c(rnorm(2500), rnorm(2500, 2.2)))) {
  case("dip", paste("dip", length(x)), x = list_of(x), point = num(dip(x)))
  if (!anyDuplicated(x)) case("dipP", paste("dip", length(x)), x = list_of(x), p = num(suppressWarnings(dip.test(x))$p.value))
}

cat("[\n", paste(cases, collapse = ",\n"), "\n]\n", sep = "")
