package tunnel

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/testbed/helperrpc"
)

func TestRequestsOutOfOrder(t *testing.T) {
	var answers bytes.Buffer
	lines := `{"traffic":{}}
{"rekey":{}}
no order
{}
`
	if err := helperrpc.Serve(t.Context(), strings.NewReader(lines), &answers, (&helper{}).serve); err != nil {
		t.Fatal(err)
	}
	const want = `{"error":"the tunnel is not open"}
{"error":"the tunnel is not open"}
{"error":"invalid character 'o' in literal null (expecting 'u')"}
{"error":"the tunnel is not open"}
`
	if answers.String() != want {
		t.Errorf("%s\nwant\n%s", answers.String(), want)
	}
}

// Decreasing counters (a peer was replaced) prove nothing.
func TestCheckTraffic(t *testing.T) {
	cases := []struct {
		from, to Traffic
		size     uint64
		ok       bool
	}{
		{Traffic{10, 10}, Traffic{110, 110}, 100, true},
		{Traffic{10, 10}, Traffic{109, 110}, 100, false},
		{Traffic{10, 10}, Traffic{110, 109}, 100, false},
		{Traffic{10, 10}, Traffic{5, 200}, 100, false},
		{Traffic{10, 10}, Traffic{10, 10}, 0, true},
	}
	for _, c := range cases {
		if got := checkTraffic("wireguard", "trial", c.from, c.to, c.size); got.OK != c.ok {
			t.Errorf("%+v to %+v: %+v", c.from, c.to, got)
		}
	}
}

// A marker that does not arrive proves nothing about the wire.
func TestASilentWireIsNoProof(t *testing.T) {
	m := markerOutcomes{{size: 64}}
	for _, clear := range []bool{true, false} {
		if c := m.checkWire("wireguard", "marker on the wire", clear); c.OK {
			t.Errorf("%+v", c)
		}
	}
	if c := m.checkArrival("wireguard", "marker", true); c.OK {
		t.Errorf("%+v", c)
	}
}
