# Writes scaling.json: what R says of slopes fitted in each round, for TestScalingAgainstR.
#
# Run in this directory: Rscript scaling.R > scaling.json   (made with R 4.2.2)
#
# A linear model with an intercept and a slope of its own for each round gives the slopes; t.test and wilcox.test give
# their intervals, and those of the differences of two arms. (The interval of wilcox.test is that of the signed-rank
# test, exact without ties; its estimate is the Hodges-Lehmann one.)
set.seed(4)
x <- c(100, 300, 1000)
rounds <- 8
num <- function(v) paste0("[", paste(sprintf("%.17g", v), collapse = ","), "]")
arm <- function(slope) t(sapply(seq_len(rounds), function(r) round(5e6 * (1 + 0.05 * rnorm(1)) + slope * (1 + 0.02 * rnorm(1)) * x + 2e4 * rnorm(3), 1)))
slopes <- function(y) {
  d <- data.frame(y = as.vector(t(y)), x = rep(x, rounds), round = factor(rep(seq_len(rounds), each = length(x))))
  unname(coef(lm(y ~ 0 + round + round:x, data = d))[rounds + seq_len(rounds)])
}
one <- function(name, y, d) {
  t <- t.test(d)
  w <- wilcox.test(d, conf.int = TRUE, exact = TRUE)
  sprintf('"%s":{"values":[%s],"slopes":%s,"t":%s,"rank":%s,"p":%s}', name,
    paste(apply(y, 1, num), collapse = ","), num(d), num(c(mean(d), t$conf.int)), num(c(w$estimate, w$conf.int)), sprintf("%.17g", w$p.value))
}
plain <- arm(12000)
mesh <- arm(13000)
cat("{", one("plain", plain, slopes(plain)), ",\n", one("mesh", mesh, slopes(mesh)), ",\n",
  one("difference", mesh - plain, slopes(mesh) - slopes(plain)), "}\n", sep = "")
