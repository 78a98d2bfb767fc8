package figure

import (
	"slices"
	"testing"
)

func TestAxisTicks(t *testing.T) {
	tests := []struct {
		a    Axis
		n    int
		want []string
	}{
		{Axis{Lo: -0.03, Hi: 0.09}, 4, []string{"0", "5 %"}},
		{Axis{Lo: -0.03, Hi: 0.09}, 6, []string{"2 %", "0", "2 %", "4 %", "6 %", "8 %"}},
		{Axis{Lo: -0.15, Hi: 40, Bend: 0.03}, 6, []string{"10 %", "0", "10 %", "100 %", "1,000 %"}},
		{Axis{Lo: 1, Hi: 1}, 4, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, v := range tt.a.ticks(tt.n) {
			got = append(got, percentTick(v))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v ticks(%d) = %q, want %q", tt.a, tt.n, got, tt.want)
		}
	}
}
