package wireguard

import (
	"testing"

	"tare/internal/layer/tunnel"
)

func TestParseTraffic(t *testing.T) {
	cases := []struct {
		name, text, wantErr string
		want                tunnel.Traffic
	}{
		{"none", "", "", tunnel.Traffic{}},
		{"one peer", "private_key=00\npublic_key=11\ntx_bytes=5\nrx_bytes=7\n", "", tunnel.Traffic{Sent: 5, Received: 7}},
		{"two peers", "tx_bytes=5\nrx_bytes=7\ntx_bytes=1\nrx_bytes=2", "", tunnel.Traffic{Sent: 6, Received: 9}},
		{"no number", "tx_bytes=x\n", `counter "tx_bytes=x": expected integer`, tunnel.Traffic{}},
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
		if sum, err := parseTraffic(text); err != nil && sum != (tunnel.Traffic{}) {
			t.Errorf("%q gives %+v and %v", text, sum, err)
		}
	})
}
