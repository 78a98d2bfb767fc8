package main

import (
	"fmt"
	"io"
	"math"

	"tare/history"
)

// percent is a share in per cent without its sign.
func percent(share float64) string { return fmt.Sprintf("%.2f", 100*share) }

// title prints what the figures rest on.
func title(w io.Writer, o options) {
	if o.markdown {
		fmt.Fprintf(w, "<!-- made by: go run ./bench/history -markdown -->\n\n# Histories, simulated\n")
	}
	fmt.Fprintf(w, "\nEvery row comes from %d simulated histories, judged by the code that judges real ones (the gate on a decline: from %d). "+
		"A percentage near 5 has a standard error of %.1f points.\n\nHow runs differ when nothing changes:\n\n", o.times, max(o.times/20, 1),
		21.8/math.Sqrt(float64(o.times)))
	for _, world := range worlds {
		fmt.Fprintf(w, "- %s: %s\n", world.name, world.about)
	}
	fmt.Fprintf(w, "\nChanges: level %s %%, at least %d runs between them.\n", percent(history.DefaultAlpha), history.DefaultSegment)
}
