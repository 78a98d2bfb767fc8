# Writes breakdown.json: what R says of the parts of a cost, for TestBreakdownAgainstR.
#
# Run in this directory: Rscript breakdown.R > breakdown.json   (made with R 4.2.2)
#
# In each round lm fits a line through the costs of 1, 2, 4, 8 and 64 rules, relative to the baseline of that round.
# wilcox.test and t.test give the intervals over rounds, of the logarithms of the factors, of which the wider bounds count; t.test those of the distances from the line
# through the other levels, which are the deleted residuals of lm.
set.seed(11)
x <- c(0, 1, 2, 4, 8, 64)
rounds <- 9
num <- function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ","), "]")
drift <- exp(0.1 * rnorm(rounds))
plain <- 100 * drift * exp(0.002 * rnorm(rounds))
true <- 1.5 + 3 * (x > 0) + 0.05 * x + ifelse(x == 64, 6, 0)
arms <- t(sapply(seq_len(rounds), function(r) drift[r] * (100 + true) * exp(0.002 * rnorm(length(x)))))
share <- (arms - plain) / plain
fits <- lapply(seq_len(rounds), function(r) lm(share[r, -1] ~ x[-1]))
coefs <- t(sapply(fits, coef))
deleted <- t(sapply(fits, function(f) residuals(f) / (1 - hatvalues(f))))
both <- function(d) {
  w <- wilcox.test(d, conf.int = TRUE, exact = TRUE)
  t <- t.test(d)
  c(w$estimate, min(w$conf.int[1], t$conf.int[1]), max(w$conf.int[2], t$conf.int[2]), max(w$p.value, t$p.value))
}
shares <- function(d) { b <- both(log1p(d)); c(expm1(b[1:3]), b[4]) }
t1 <- function(d) { w <- t.test(d); c(mean(d), w$conf.int, w$p.value) }
amount <- function(d) both(d * plain)[1:3]
any <- coefs[, 1] - share[, 1]
each <- coefs[, 2]
cat(sprintf('{"plain":%s,\n"arms":[%s],\n"any":%s,"each":%s,\n"anyAmount":%s,"eachAmount":%s,\n"deleted":[%s]}\n', num(plain),
  paste(apply(arms, 1, num), collapse = ",\n"), num(shares(any)), num(shares(each)), num(amount(any)), num(amount(each)),
  paste(apply(deleted, 2, function(d) num(t1(d))), collapse = ",")))
