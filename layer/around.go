package layer

import (
	"tare/experiment"
	"tare/testbed"
)

// Around says which of the programs under test a layer is put around, where some are servers
// and others send them their load.
type Around string

// The choices.
const (
	Both   Around = "both" // the default
	Server Around = "server"
	Client Around = "client"
)

// Values lists the choices.
func (Around) Values() []string { return []string{string(Both), string(Server), string(Client)} }

// Holds says whether programs at a place are among those.
func (a Around) Holds(where testbed.Place) bool {
	return a == "" || a == Both || (a == Server) == where.Server()
}

// Needs is what a layer around those takes of a testbed, the one that is named or any: servers are programs of a network.
func (a Around) Needs(only string) experiment.Needs {
	return experiment.Needs{Only: only, Network: a == Server}
}

// Places are those of a session at which the layer is around programs. testbed.Host, which
// stands there for all places on this machine, is a client's place.
func (a Around) Places(s *Session) []testbed.Place {
	var places []testbed.Place
	for _, where := range s.Places {
		switch {
		case a.Holds(where):
			places = append(places, where)
		case where == testbed.Host:
			places = append(places, testbed.ServerPod)
		}
	}
	return places
}
