package layer

import (
	"context"
	"slices"
	"testing"

	"tare/internal/testbed"
)

// started is a site that records the programs started at each place.
type started map[testbed.Place][]string

func (s started) Start(_ context.Context, where testbed.Place, cmd testbed.Command) (testbed.Process, error) {
	s[where] = cmd.Args
	return nil, nil
}

func TestAround(t *testing.T) {
	for around, wrapped := range map[Side][]testbed.Place{
		"":     {testbed.Host, testbed.ClientPod, testbed.ClientNode, testbed.ServerPod, testbed.ServerNode, testbed.Member(3)},
		Both:   {testbed.Host, testbed.ClientPod, testbed.ClientNode, testbed.ServerPod, testbed.ServerNode, testbed.Member(3)},
		Client: {testbed.Host, testbed.ClientPod, testbed.ClientNode},
		Server: {testbed.ServerPod, testbed.ServerNode, testbed.Member(3)},
	} {
		front := func(cmd testbed.Command) testbed.Command {
			cmd.Args = slices.Concat([]string{"front"}, cmd.Args)
			return cmd
		}
		seen := started{}
		site := WithWrappers(seen, &Active{Wrap: front, Around: around})
		for _, where := range []testbed.Place{testbed.Host, testbed.ClientPod, testbed.ClientNode, testbed.ServerPod, testbed.ServerNode, testbed.Member(3)} {
			if _, err := site.Start(t.Context(), where, testbed.Command{Args: []string{"x"}, Subject: true}); err != nil {
				t.Fatal(err)
			}
			if got := seen[where][0] == "front"; got != slices.Contains(wrapped, where) {
				t.Errorf("around %q: in front of a program in %s: %v", around, where, got)
			}
		}
	}
	all := &Session{Places: []testbed.Place{testbed.Host}}
	for around, want := range map[Side]testbed.Place{Both: testbed.Host, Client: testbed.Host, Server: testbed.ServerPod} {
		if got := around.Places(all); !slices.Equal(got, []testbed.Place{want}) {
			t.Errorf("around %s: shown at %v, want %s", around, got, want)
		}
	}
}
