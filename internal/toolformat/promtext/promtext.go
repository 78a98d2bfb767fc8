// Package promtext reads single values in Prometheus' text format, in which most servers publish their counters. It
// reads only values without labels.
package promtext

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Values returns the values with the given names. A value that is missing, negative or no number is an error.
func Values(text []byte, names ...string) (map[string]float64, error) {
	const most = 1e18 // limit: no sensible number of bytes or seconds is as large
	values := map[string]float64{}
	for _, name := range names {
		values[name] = -1
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // name, value and, in some lines, a time
		if len(fields) < 2 {
			continue
		}
		if _, wanted := values[fields[0]]; !wanted {
			continue
		}
		if v, err := strconv.ParseFloat(fields[1], 64); err == nil {
			values[fields[0]] = v
		}
	}
	for _, name := range names {
		if v := values[name]; !(v >= 0 && v < most) { // the comparison is false for NaN
			return nil, fmt.Errorf("no %s", name)
		}
	}
	return values, nil
}
