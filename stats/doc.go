// Package stats holds the estimators behind every verdict: numbers in,
// estimates out. It imports nothing of this module, keeps no state and reads
// no clock; whatever is random takes a seed.
package stats
