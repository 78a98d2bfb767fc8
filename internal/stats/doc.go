// Package stats holds the estimators behind every verdict: numbers in, estimates out. It imports nothing of this module
// and reads no clock. Everything random takes a seed. Between calls it keeps only null distributions and quantiles.
//
// A value is the result of one trial, or the log ratio of two trials of one round. It is never one request, one second
// or one packet of a trial: these depend on each other, and every interval would be too narrow.
//
// # Why these methods
//
// Values are paired by round, if there are rounds. Machines drift, and arms of one round drift together, so the
// difference within the round is free of drift. [SignedRank] and [PairedT] take one log ratio per round. [RankSum] and
// [WelchT] are for data without rounds, in which drift is noise.
//
// Methods with ranks come first, and Student's t second: noise has spikes and modes, and there are seldom enough rounds
// for normality. The signed-rank interval has its confidence for any symmetric distribution. The log ratio of two
// trials
// with equal noise is symmetric, since swapping the trials changes its sign. The signed-rank interval needs at least
// six
// rounds at 95 %, and attains only some confidences (96.9 % at six). The t interval serves with fewer rounds, and as a
// second opinion. With fewer than six rounds of bimodal noise it is too narrow.
//
// Null distributions are exact up to large sample sizes, ties and zeros included. Verdicts depend on the tails, where
// approximations fail for small samples.
//
// Equivalence is a claim that needs evidence ([Estimate.Equivalence]). A p-value over 5 % for "no difference" is no
// such
// evidence. An unresolved comparison comes with the effect that would have been detected ([DetectableEffect],
// [RankSumDetectableEffect]), and with the rounds that a verdict would need ([PairsForVerdict], [ValuesForVerdict]).
// The
// estimate of a barely significant claim is too large on average ([Exaggeration]).
//
// The number of rounds is decided once, from the spread of a pilot ([SteinRounds], [PrecisionRounds]). A user who stops
// as soon as the interval is narrow selects runs with little noise. Stein's interval and its test of equivalence are
// exact because they use the pilot's spread only.
//
// [Holm] corrects all claims of a run together. All arms share one baseline, so claims depend on each other. Holm's
// method allows any dependence, and claims at least as much as Bonferroni's.
//
// Counts have exact tests and intervals ([FisherExact], [ClopperPearson]). The interval of means allows for skewness
// ([LogMeanRatioPaired]): capacity and money depend on the mean, and rank tests are not about the mean.
//
// # Results of simulations
//
// The share of 95 % intervals that contain the true value, out of 40,000 (± 0.2 is chance), by the command
//
//	go test ./internal/stats -run Coverage -v -coverage.n 40000
//
// The columns are kinds of noise. Heavy is t with 3 degrees of freedom, spiky the difference of two exponential values,
// and bimodal ±1, each with some noise. Rounded is normal, rounded to whole deviations (mostly ties and zeros), and
// skewed
// is exponential. In "carried over", each log ratio contains 0.3 of the previous ratio's deviation.
//
//	                      n   normal  heavy  spiky  bimodal  rounded  skewed  carried over
//	SignedRank            6     96.9   96.9   97.0     96.8     99.8
//	                      8     96.1   96.0   96.1     96.2     99.1
//	                     12     95.9   95.7   95.9     95.8     99.7    95.1          87.9
//	                     20     95.3   95.0   95.3     95.4     99.8
//	                     50     95.0   95.0   95.2     95.0    100.0    94.6
//	                    250     94.9
//	PairedT               2     95.1
//	                      3     95.0   96.2   96.8     75.4
//	                      5     95.0   96.3   96.5     93.8
//	                      6     94.9   96.3   96.3
//	                     12     95.1   95.9   95.5     95.2             90.7          86.0
//	                     50     94.9   95.5   95.2                      93.5
//	Stein, pilot of 4           95.0          94.4
//	Stein, pilot of 6           95.1          94.4
//	Stein, pilot of 10          95.1          94.8
//	Stein, capped at 15         94.9 to 95.0 for the three pilots
//	MedianInterval        6                                             96.8
//	                     11                                             98.8
//	                     30                                             95.8
//	RankSum           4 + 4     97.1                            99.1    97.2
//	                  6 + 6     95.8                            99.5    95.8
//	                 12 + 6     95.8                            99.6    95.8
//	                30 + 30     95.0                           100.0    95.1
//	WelchT            4 + 4     96.0                                    97.6
//	                  6 + 6     95.5                                    97.0
//	                 12 + 6     95.0                                    94.9
//	                30 + 30     95.1                                    95.4
//
// With skewed values the t interval, which is about the mean, loses four points at twelve values. No method repairs
// values that carry over. Random order and rounds prevent them, and [Lag1] and [OrderEffect] detect them. With unequal
// spread (deviations 1 and 3) WelchT is within 0.4 points of 95 %. RankSum falls to 89.9 % if the smaller sample has
// the
// wider spread (12 + 6), and rises to 97.4 % if it has the narrower spread (6 + 12).
//
// [RandomEffects], out of 5,000 (± 0.6 is chance): k runs of 12 rounds, with true effects that differ by the spread.
// Standard errors are 1 % (alike), or 0.4 to 2.4 % (unlike). The columns are the coverage of the interval of the mean,
// of Hartung and Knapp's alone, and of the prediction for another run with an error of 1 %:
//
//	        errors alike                        errors unlike
//	 k  spread   mean  HK alone  another run    mean  HK alone
//	 2     0 %   99.0      94.9        100.0    99.6      94.4
//	       1 %   98.3      94.8        100.0    97.1      88.6
//	       5 %   94.7      94.7         99.6    95.4      88.6
//	 3     0 %   98.4      94.1        100.0    99.4      94.1
//	       1 %   97.1      94.7         99.9    96.5      87.3
//	       5 %   95.0      95.6         95.4    95.1      93.3
//	 5     0 %   97.6      94.2         99.6    99.2      93.9
//	       1 %   96.1      94.1         98.0    97.1      88.6
//	       5 %   95.1      95.2         95.2    95.2      94.6
//	10     0 %   96.7      94.0         98.1    98.9      93.9
//	       1 %   95.9      94.6         96.4    97.4      92.9
//	       5 %   95.2      95.5         95.2    95.9      94.4
//
// Intervals of the ratio of two means ([LogMeanRatioPaired]), out of 4,000 (± 0.7 is chance). The columns are noise of
// 2 %; 5 % of the trials of both arms 20 % longer; one arm with exponential noise; and 10 % of one arm's trials twice
// as
// long. In the last column, 28 % of samples of 12 and 12 % of samples of 20 contain no such trial:
//
//	  n   2 %   spiky  exponential  one arm stalls
//	  6   95.0   96.8     89.7
//	 12   95.4   97.5     91.5          70.7
//	 20   95.0   96.6     92.7          88.0
//	 30   95.2   95.5     95.4          95.3
//	 50   95.3   94.8     95.9          98.9
//	200   94.9   94.7     95.7          96.9
//
// At 50 rounds in the last column, Student's interval alone has 90.9, and a bootstrap-t of 399 resamples 98.2. But the
// bootstrap-t has 87.5 % at 20 rounds where both arms are spiky.
//
// False claims at a level of 5 %, by the command above (changepoints: out of 10,000). Dip's p-value is for a uniform
// distribution, so Dip claims little:
//
//	ten arms like the baseline, any claim, n = 12    Holm 4.1, unadjusted 26.8
//	SignedRank: equivalent on the margin, n = 5, 6, 12, 50   3.1, 4.7, 4.6, 5.1
//	PairedT: equivalent on the margin, n = 5, 6, 12, 50      5.0, 5.0, 5.0, 5.1
//	OrderEffect, 5 arms, n = 6, 8, 9, 12, 30                 3.8, 4.7, 5.5, 5.4, 4.9
//	OrderEffect, 2 arms, n = 6, 8, 9, 12, 30                 0.0, 2.3, 5.4, 5.3, 5.2
//	Trend, n = 6, 12, 50     normal 1.7, 4.3, 5.1, skewed 1.6, 4.7, 4.9, rounded 1.7, 3.7, 4.6
//	Dip, n = 50              normal 0.2, skewed 0.4, heavy 0.1, rounded 0.0
//	Changepoints, any, n = 12    normal 5.0, heavy 4.4, skewed 4.6, rounded 3.8
//	Changepoints, any, n = 50    normal 5.1, heavy 5.3, skewed 5.0, rounded 5.0
//	Changepoints, any, n = 200   normal 5.1
//	Changepoints, any, n = 1200  normal 4.9 (medians of blocks)
//	Changepoints, segments of 5 at least, n = 50     5.3; at a level of 1 % 0.9
//	Changepoints, any, n = 50, carried over          22.7
//
// How close Changepoints comes to a step of 5 % in normal noise of 3 % (1.67 deviations), out of 10,000. The step is
// anywhere in the middle third of 50 values, and segments have at least 5:
//
//	                at 5 %   at 1 %
//	found at all      99.7     98.0
//	within 4 places            92.6
//	within 2 places   85.8     84.9
//	at the place               51.1
//
// The largest CUSUM is the maximum likelihood for normal noise. It locates such steps no better (86.3 % within 2 where
// the energy distance has 86.7, of 2,000), and steps with heavy tails worse (89.3 against 93.8 %). With 1,000 values in
// blocks it is 85.2 % within 2 (of 2,000). Locating changes again between their neighbours puts 4 to 6 % more of them
// within 2 places if there are two steps in 75 values.
//
// Share of true effects claimed, planned as 80 % for normal noise:
//
//   - PairedT at the size of [DetectableEffect]: 79.7 to 80.1 % (n = 3 to 30).
//   - SignedRank at the size where its own power is 80 %: 79.6 to 80.4 % (n = 6 to 30). At a level of 0.5 %: 78.5 to 80.8 %
//     (n = 9 to 30). On spiky noise of the same deviation: 83.8 and 88.6 % (n = 12 and 30).
//   - SignedRank at the effect computed for the t test: 62 % at six rounds and 76 % at twelve.
//
// Share of true effects claimed by WelchT at the size of [WelchDetectableEffect], with equal deviations and with 1 to
// 3:
//
//	3 + 3      69.7 and 77.1 %
//	4 + 4      75.8 and 78.9 %
//	6 + 6      78.5 and 79.3 %
//	12 + 6     79.3 and 79.6 %
//	30 + 30    79.9 and 79.9 %
//
// The smallest samples fall short because the test estimates its degrees of freedom.
//
// RankSum at the size of [RankSumDetectableEffect]: 80.1 % (4 + 4), 79.7 % (6 + 6), 78.8 % (12 + 6), 80.3 % (30 + 30).
// At
// a level of 0.5 %: 76.0 to 80.5 % (6 + 6 to 30 + 30). On spiky noise of the same deviation: 86.8 % (12 + 12) and 90.5
// %
// (30 + 30). At the effect computed for Welch's test, RankSum detects 64 % at 4 + 4 and 75 % at 6 + 6.
package stats
