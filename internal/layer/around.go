package layer

import (
	"tare/internal/experiment"
	"tare/internal/testbed"
)

// Side is the side of the connection whose programs a layer is put around: servers, clients that send load to
// servers, or both. In a plan, "" stands for both.
type Side string

const (
	Both   Side = "both" // the default
	Server Side = "server"
	Client Side = "client"
)

func (Side) Values() []string { return []string{string(Both), string(Server), string(Client)} }

// Holds reports whether the layer is put around programs at a place.
func (a Side) Holds(where testbed.Place) bool {
	return a == "" || a == Both || (a == Server) == where.Server()
}

// Needs returns the requirements of a layer around this side. The layer works on one testbed; "": on any. A layer
// around servers needs a network.
func (a Side) Needs(oneTestbed string) experiment.Needs {
	return experiment.Needs{Only: oneTestbed, Network: a == Server}
}

// Places returns the places of a session whose programs the layer is put around. testbed.Host stands for all
// places on this machine. For a layer around servers, Places returns testbed.ServerPod in its place.
func (a Side) Places(s *Session) []testbed.Place {
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

// Match is the part of a path that a layer's rule is compared with: the beginning or the end.
type Match string

const (
	Prefix Match = "prefix" // pattern /directory/**
	Suffix Match = "suffix" // pattern **/name
)

func (Match) Values() []string { return []string{string(Prefix), string(Suffix)} }

// Action is the effect of a layer's rule on an operation that matches the rule. The words are vArmor's.
type Action string

const (
	Deny  Action = "deny"
	Audit Action = "audit" // the operation is allowed, and counted or written to the kernel's log
	Allow Action = "allow" // the operation is allowed, and no other rule applies to it
)

func (Action) Values() []string { return []string{string(Deny), string(Audit), string(Allow)} }
