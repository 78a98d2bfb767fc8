// Package promtext reads single values of Prometheus' text format, in which most servers of the
// field tell what they count. It knows values without labels, which those of a process are.
package promtext

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// most is beyond what any process counts in bytes or seconds.
const most = 1e18

// Values gives the values of the names. It is an error if one is missing, negative or no number.
func Values(text []byte, names ...string) (map[string]float64, error) {
	values := map[string]float64{}
	for _, name := range names {
		values[name] = -1
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		fields := strings.Fields(lines.Text()) // name, value, and perhaps a time
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
		if v := values[name]; !(v >= 0 && v < most) { // NaN, too
			return nil, fmt.Errorf("no %s", name)
		}
	}
	return values, nil
}
