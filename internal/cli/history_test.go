package cli_test

import (
	"fmt"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"tare/internal/runs/history/historytest"
)

// nightly makes runs of an experiment, a day apart: nightly DIR NAME N. After two thirds of the runs, the layer
// costs 5 % more and the kernel is another one. The fourth run is invalid, and the sixth is not finished.
func nightly(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: nightly DIR NAME N")
	}
	n := number(ts, args[2])
	for i := range n {
		r := historytest.Run{Name: args[1], Number: i, Level: 0.4, Cost: 0.07, Noise: 0.005, Rounds: 8,
			Size: "4KiB", Version: "v1.0.0", Kernel: "6.1.0", Invalid: i == 3, Running: i == 5}
		if 3*i >= 2*n {
			r.Cost, r.Kernel = 0.12, "6.8.0"
		}
		ts.Check(r.Write(filepath.Join(ts.MkAbs(args[0]), fmt.Sprintf("%s-%02d", args[1], i))))
	}
}

// swept writes a run whose layer has 0 to 64 rules: swept DIR.
func swept(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: swept DIR")
	}
	r := historytest.Run{Name: "rules", Level: 1.2e-6, Cost: 0.01, Noise: 0.001, Rounds: 12, Rules: []int{0, 1, 2, 4, 8, 64}}
	ts.Check(r.Write(ts.MkAbs(args[0])))
}
