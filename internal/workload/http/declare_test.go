package http

import (
	"testing"

	"tare/internal/experiment/factor"
	"tare/internal/workload/http/load"
)

// A Service names its server's protocol, or TCP if there are several.
func TestAppProtocol(t *testing.T) {
	for want, c := range map[string]Config{
		"http":  {Protocol: factor.Of(load.HTTP1)},
		"http2": {Protocol: factor.Of(load.H2)},
		"grpc":  {Protocol: factor.Of(load.GRPC)},
		"https": {Protocol: factor.Of(load.H2), TLS: &load.TLSConfig{}},
		"tcp":   {Protocol: factor.Of(load.HTTP1, load.H2)},
	} {
		if got := c.Declare().Needs.AppProtocol; got != want {
			t.Errorf("%v: %q, want %q", c.Protocol, got, want)
		}
	}
}
