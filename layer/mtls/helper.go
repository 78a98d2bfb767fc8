package mtls

import "net/netip"

// order is one line to the helper at a place; exactly one member is set. What a member says
// is done in the helper's network namespace.
type order struct {
	Redirect *redirect    `json:"redirect,omitempty"`
	Restore  *struct{}    `json:"restore,omitempty"`  // removes the rules, if there are any
	Rules    *struct{}    `json:"rules,omitempty"`    // answered by how many there are
	Source   *sourceOrder `json:"source,omitempty"`   // answered by an address
	Listen   *listenOrder `json:"listen,omitempty"`   // answered by a port
	Unlisten *struct{}    `json:"unlisten,omitempty"` // ends that
	Send     *sendOrder   `json:"send,omitempty"`     // answered by a sent
	Admin    *adminOrder  `json:"admin,omitempty"`    // answered by a text
	Watch    *watchOrder  `json:"watch,omitempty"`    // begins to count frames
	Unwatch  *struct{}    `json:"unwatch,omitempty"`  // ends that, answered by how many there were
	Become   *becomeOrder `json:"become,omitempty"`   // has this process become a proxy
	Forget   *dirOrder    `json:"forget,omitempty"`   // removes the files of a proxy
	Told     *dirOrder    `json:"told,omitempty"`     // answered by what a proxy has printed since it was asked last
}

// becomeOrder is all that a proxy is started from.
type becomeOrder struct {
	dirOrder
	Files map[string]string `json:"files"` // by their names there, which is where it works
	Args  []string          `json:"args"`
	// Told says that its standard output goes to a file, since nobody can read it while it runs.
	Told bool `json:"told,omitempty"`
}

// dirOrder names the directory of a proxy, among the temporary ones of its place.
type dirOrder struct {
	Dir string `json:"dir"`
}

// watchOrder asks for the frames that hold a pattern, but for those that stay in the pod.
type watchOrder struct {
	Pattern string `json:"pattern"`
}

// redirect has connections go to a proxy. It is in force for all ports at once.
type redirect struct {
	Own       bool         `json:"own"`       // those that programs here make, and not those that arrive here
	Addresses []netip.Addr `json:"addresses"` // that they go to; none: any
	Ports     []uint16     `json:"ports"`     // that they go to
	To        uint16       `json:"to"`        // port of the proxy
	// At is the proxy's address; invalid: that of the interface on which they arrive, which a
	// tunnel's has not.
	At netip.Addr `json:"at"`
	// Mark and User are those of sockets that are left alone; 0: of no such user.
	Mark uint32 `json:"mark,omitempty"`
	User uint32 `json:"user,omitempty"`
}

// rules is how many rules that makes.
func (r redirect) rules() int { return max(len(r.Addresses), 1) * len(r.Ports) }

// sourceOrder asks for this place's own address in a network.
type sourceOrder struct {
	Network netip.Prefix `json:"network"`
}

// listenOrder asks to answer what comes to a port: the last one that is free.
type listenOrder struct {
	Ports []uint16 `json:"ports"`
}

// heard is what the server saw of a connection, which it answers with.
type heard struct {
	Peer     netip.AddrPort `json:"peer"`     // that it came from
	Marker   string         `json:"marker"`   // that was sent
	Identity string         `json:"identity"` // that a proxy put into the request (X-Forwarded-Client-Cert)
}

// sendOrder asks to send a marker, and for what the server says about it.
type sendOrder struct {
	To     netip.AddrPort `json:"to"`
	From   netip.Addr     `json:"from"` // invalid: the kernel chooses
	Marker string         `json:"marker"`
	HTTP   bool           `json:"http,omitempty"` // in a request
	Mark   int            `json:"mark,omitempty"` // of the socket
	TLS    *tlsOrder      `json:"tls,omitempty"`  // nil: without
}

// tlsOrder is the client's side of TLS.
type tlsOrder struct {
	Authority string    `json:"authority"`          // that the server must be certified by
	Identity  *identity `json:"identity,omitempty"` // of the client; nil: none
}

// sent is what became of a marker. Without an answer, Refused says why.
type sent struct {
	Refused string         `json:"refused,omitempty"`
	Local   netip.AddrPort `json:"local"` // that it was sent from
	Heard   heard          `json:"heard"`
	// Of the connection, where it had TLS.
	Version  string `json:"version,omitempty"`
	Identity string `json:"identity,omitempty"` // of the server
	Key      string `json:"key,omitempty"`      // kind of key of the server
}

// arrived says whether the server answered.
func (s sent) arrived() bool { return s.Refused == "" }

// direct says whether the connection that was made is the one that came to the server.
func (s sent) direct() bool { return s.arrived() && s.Local == s.Heard.Peer }

// adminOrder asks a proxy at an address: a request if there is a method, or else a line.
type adminOrder struct {
	Address string `json:"address"`
	Method  string `json:"method,omitempty"`
	Text    string `json:"text"`
}
