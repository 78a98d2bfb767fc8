# Writes golden-metafor.json: what R's metafor says of random effects, for the
# tests of package stats. Run in this directory:
#   Rscript metaanalysis.R > golden-metafor.json
# (R and its package metafor, made with 4.2.2 and 3.8-1)
suppressMessages(library(metafor))

num <- function(x) sprintf("%.17g", x)
list_of <- function(x) paste0("[", paste(num(x), collapse = ","), "]")
set.seed(11)
sets <- list(
  # Colditz et al. (1994): log relative risks of the BCG vaccine in 13 trials.
  bcg = with(escalc("RR", ai = tpos, bi = tneg, ci = cpos, di = cneg, data = dat.bcg), list(y = as.numeric(yi), se = sqrt(vi))),
  two = list(y = c(0.10, 0.16), se = c(0.01, 0.02)),
  three = list(y = c(0.592, 0.541, 0.57), se = c(0.0087, 0.0097, 0.03)),
  agree = list(y = c(0.031, 0.030, 0.029, 0.0305), se = c(0.01, 0.012, 0.009, 0.02)),
  unequal = list(y = c(0.00, 0.05, 0.02, -0.04, 0.3), se = c(0.001, 0.04, 0.01, 0.02, 0.2)))
for (k in c(5, 10, 20)) {
  se <- round(runif(k, 0.005, 0.03), 5)
  sets[[paste0("made", k)]] <- list(y = round(rnorm(k, 0.05, sqrt(se^2 + 0.02^2)), 6), se = se)
}
rows <- character()
for (name in names(sets)) for (level in c(0.9, 0.95)) {
  y <- sets[[name]]$y; se <- sets[[name]]$se
  fit <- rma(y, sei = se, method = "PM", test = "knha", level = 100 * level,
    control = list(tol = 1e-14, maxiter = 10000, tau2.max = 1000))
  tau <- confint(fit, control = list(tol = 1e-14, tau2.max = 1000))$random["tau", ]
  classic <- rma(y, sei = se, method = "PM", level = 100 * level, control = list(tol = 1e-14, maxiter = 10000, tau2.max = 1000))
  own <- predict(classic) # mean ± z·sqrt(tau² + SE²)
  half <- (own$pi.ub - own$pi.lb) / 2 / qnorm(1 - (1 - level) / 2)
  plain <- t.test(y, conf.level = level)
  lo <- min(fit$ci.lb, classic$ci.lb, plain$conf.int[1])
  hi <- max(fit$ci.ub, classic$ci.ub, plain$conf.int[2])
  p <- max(fit$pval, classic$pval, plain$p.value)
  tau_hi <- tau[["ci.ub"]]
  if (fit$QE < length(y) - 1) # estimates that agree as well as is to be expected
    tau_hi <- max(tau_hi, sqrt(mean(se^2) * ((length(y) - 1) / qchisq((1 - level) / 2, length(y) - 1) - 1)))
  rows <- c(rows, sprintf(paste0('{"name":"%s","y":%s,"errors":%s,"confidence":%s,"point":%s,"lo":%s,"hi":%s,"p":%s,"hkLo":%s,"hkHi":%s,"hkP":%s,',
    '"tau":%s,"tauLo":%s,"tauHi":%s,"true":%s,"q":%s,"pq":%s,"weights":%s}'),
    name, list_of(y), list_of(se), num(level), num(fit$beta[1]), num(lo), num(hi), num(p), num(fit$ci.lb), num(fit$ci.ub), num(fit$pval),
    num(sqrt(fit$tau2)), num(tau[["ci.lb"]]), num(tau_hi), num(half), num(fit$QE), num(fit$QEp), list_of(weights(fit) / 100)))
}
cat("[\n", paste(rows, collapse = ",\n"), "\n]\n", sep = "")
