package layer

import (
	"slices"
	"testing"

	"tare/internal/testbed"
	"tare/internal/testbed/launcher"
)

// Subjects of every arm are started with the same number of launchers, whatever layers the arm has and whichever side
// the layers are around. Helpers get no launchers.
func TestDressAlike(t *testing.T) {
	nnp := launcher.Settings{NoNewPrivs: true}.Argument()
	restricting := &Active{Around: Client, Wrap: func(cmd testbed.Command) testbed.Command {
		cmd.Args = append([]string{nnp}, cmd.Args...)
		return cmd
	}}
	nice := &Active{Wrap: func(cmd testbed.Command) testbed.Command {
		cmd.Args = append([]string{"nice"}, cmd.Args...)
		return cmd
	}}
	empty := launcher.Settings{}.Argument()
	for _, c := range []struct {
		name   string
		active []*Active
		where  testbed.Place
		want   []string
	}{
		{"no layer", nil, testbed.ClientPod, []string{empty, empty, "true"}},
		{"its own launcher", []*Active{restricting}, testbed.ClientPod, []string{empty, nnp, "true"}},
		{"at the other side", []*Active{restricting}, testbed.ServerPod, []string{empty, empty, "true"}},
		{"a program in front", []*Active{nice}, testbed.ClientPod, []string{empty, empty, "nice", "true"}},
	} {
		r := started{}
		site := WithEqualLaunchers(r, 2, c.active...)
		if _, err := site.Start(t.Context(), c.where, testbed.Command{Args: []string{"true"}, Subject: true}); err != nil || !slices.Equal(r[c.where], c.want) {
			t.Errorf("%s: %q, %v", c.name, r[c.where], err)
		}
		if _, err := site.Start(t.Context(), c.where, testbed.Command{Args: []string{"true"}}); err != nil || !slices.Equal(r[c.where], []string{"true"}) {
			t.Errorf("%s, of Tare's own: %q, %v", c.name, r[c.where], err)
		}
	}
}
