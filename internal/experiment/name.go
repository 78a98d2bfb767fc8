package experiment

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"tare/internal/experiment/factor"
)

// maxName is the longest name of an expanded arm or cell, in bytes. Names become directories of a run, and
// the name of one directory may contain several names.
const maxName = 100

// cellID names a cell by the workload, the levels of the workload's factors and the levels of the testbed's
// factors: "network.tcp.pod-to-pod.mtu=8896".
func cellID(workload string, own, bed []sweep, levels []int) string {
	parts := []string{workload}
	for k, s := range own {
		if value := s.levels[levels[k]]; speaking(value, k, own) {
			parts = append(parts, value)
		} else {
			parts = append(parts, s.held(levels[k]).String())
		}
	}
	for k, s := range bed {
		parts = append(parts, s.held(levels[len(own)+k]).String())
	}
	return FileName(strings.Join(parts, "."))
}

// speaking reports whether the level of a factor is clear without the factor's name: a word that no other
// factor has as a level.
func speaking(value string, k int, factors []sweep) bool {
	if value == "" || !letter(value[0]) || value == "true" || value == "false" {
		return false
	}
	for other, s := range factors {
		if other != k && slices.Contains(s.levels, value) {
			return false
		}
	}
	return true
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// armName names an arm at its levels: "seccomp[rules=8]".
func armName(arm string, levels []factor.Level) string {
	if len(levels) == 0 {
		return arm
	}
	parts := make([]string, len(levels))
	for i, l := range levels {
		parts[i] = l.String()
	}
	return FileName(arm + "[" + strings.Join(parts, ",") + "]")
}

// FileName makes a file name of a text. It replaces characters that file names cannot have, and shortens a long
// text to a part of it and a hash of the whole.
func FileName(s string) string {
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (letter(byte(r)) || r >= '0' && r <= '9' || strings.ContainsRune(".,=[]%+-_", r)) {
			return r
		}
		return '_'
	}, s)
	if len(safe) <= maxName {
		return safe
	}
	hash := fnv.New32a()
	hash.Write([]byte(s))
	return fmt.Sprintf("%s~%08x", safe[:maxName-9], hash.Sum32())
}

// unique returns the name, with a number added if it is in use. Only names with replaced characters can be
// equal.
func unique(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s~%d", name, n)
	}
	taken[free] = true
	return free
}
