package wireguard

import (
	"bytes"
	"strings"
	"testing"

	"tare/testbed/orders"
)

func TestOrdersOutOfOrder(t *testing.T) {
	var answers bytes.Buffer
	lines := `{"traffic":{}}
{"rekey":{}}
no order
{}
`
	if err := orders.Serve(t.Context(), strings.NewReader(lines), &answers, (&helper{}).obey); err != nil {
		t.Fatal(err)
	}
	const want = `{"error":"the tunnel is not open"}
{"error":"the tunnel is not open"}
{"error":"invalid character 'o' in literal null (expecting 'u')"}
{"error":"the tunnel is not open"}
`
	assert(t, "answers", answers.String(), want)
}

func TestParseTraffic(t *testing.T) {
	cases := []struct {
		name, text, wantErr string
		want                traffic
	}{
		{"none", "", "", traffic{}},
		{"one peer", "private_key=00\npublic_key=11\ntx_bytes=5\nrx_bytes=7\n", "", traffic{5, 7}},
		{"two peers", "tx_bytes=5\nrx_bytes=7\ntx_bytes=1\nrx_bytes=2", "", traffic{6, 9}},
		{"no number", "tx_bytes=x\n", `counter "tx_bytes=x": expected integer`, traffic{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := parseTraffic(c.text)
			if got != c.want || (err == nil) != (c.wantErr == "") || err != nil && err.Error() != c.wantErr {
				t.Errorf("%+v, %v; want %+v, %s", got, err, c.want, c.wantErr)
			}
		})
	}
}

func FuzzParseTraffic(f *testing.F) {
	f.Add("public_key=11\ntx_bytes=5\nrx_bytes=7\n")
	f.Add("tx_bytes=\nrx_bytes=-1")
	f.Fuzz(func(t *testing.T, text string) {
		if sum, err := parseTraffic(text); err != nil && sum != (traffic{}) {
			t.Errorf("%q gives %+v and %v", text, sum, err)
		}
	})
}

// Counters that run backwards (a peer that was replaced) prove nothing.
func TestCheckTraffic(t *testing.T) {
	cases := []struct {
		from, to traffic
		size     uint64
		ok       bool
	}{
		{traffic{10, 10}, traffic{110, 110}, 100, true},
		{traffic{10, 10}, traffic{109, 110}, 100, false},
		{traffic{10, 10}, traffic{110, 109}, 100, false},
		{traffic{10, 10}, traffic{5, 200}, 100, false},
		{traffic{10, 10}, traffic{10, 10}, 0, true},
	}
	for _, c := range cases {
		if got := checkTraffic("trial", c.from, c.to, c.size); got.OK != c.ok {
			t.Errorf("%+v to %+v: %+v", c.from, c.to, got)
		}
	}
}
