package longcsv_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/importer/importertest"
	"tare/internal/importer/longcsv"
)

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string // the cell, arm and levels of each trial, or the error
	}{
		{"factors", "arm,Factor:QPS,factor: size,metric,better,value\na,100,4KiB,x,lower,1\nb,100,4KiB,x,lower,2\na,500,4KiB,x,lower,3\n",
			[]string{"results.QPS=100.size=4KiB a [QPS=100 size=4KiB]", "results.QPS=100.size=4KiB b [QPS=100 size=4KiB]", "results.QPS=500.size=4KiB a [QPS=500 size=4KiB]"}},
		{"with a cell", "cell,factor:qps,metric,better,value\nhttp,100,x,lower,1\n", []string{"http.qps=100  [qps=100]"}},
		{"missing", "factor:qps,metric,better,value\n,x,lower,1\n", []string{"line 2, column 1: factor:qps: the level of qps is missing"}},
		{"no name", "factor:,metric,better,value\n1,x,lower,1\n", []string{"the column factor: names no factor"}},
		{"twice", "factor:qps,factor:qps,metric,better,value\n1,1,x,lower,1\n", []string{"the column factor:qps is there twice"}},
		{"as exported", "arm,cell,levels,metric,better,value\na,http.qps=1,qps=1;mtu=1500,x,lower,1\nb[rules=8],http.qps=1,qps=1;mtu=1500;rules=8,x,lower,1\nb,http.qps=2,qps=2;mtu=1500,x,lower,1\n",
			[]string{"http.qps=1 a [qps=1 mtu=1500]", "http.qps=1 b[rules=8] [qps=1 mtu=1500]", "http.qps=2 b [qps=2 mtu=1500]"}},
		{"the arm's first", "arm,cell,levels,metric,better,value\nb,http,rules=8,x,lower,1\na,http,,x,lower,1\n", []string{"http b []", "http a []"}},
		{"something else", "levels,level,metric,better,value\nhigh,3,x,lower,1\n", []string{"results  []"}},
	} {
		trials, err := importertest.Read(longcsv.Format, "x.csv", c.text)
		var got []string
		for _, trial := range trials {
			got = append(got, fmt.Sprintf("%s %s %v", trial.Cell, trial.Arm, trial.Levels))
		}
		if err != nil {
			got = []string{err.Error()}
		}
		if !slices.EqualFunc(got, c.want, func(got, want string) bool { return got == want || err != nil && strings.Contains(got, want) }) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
