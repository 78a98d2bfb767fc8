package inventory

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"tare/testbed/kube/cluster"
)

// idFile holds, in the run directory, a random name by which the sessions of a run
// recognise each other's records. A path or a host name would not do: in containers
// they change, and those of another run are the same.
const idFile = "cluster-id"

// Session is one process that carries out a run.
type Session struct {
	Owner Owner
	Run   string // run directory; "": none
	id    string // of the run
}

// NewSession begins a session of the run in a directory, which may be "".
func NewSession(run string) (Session, error) {
	s := Session{Owner: NewOwner(), Run: run}
	if run == "" {
		return s, nil
	}
	var err error
	s.id, err = runID(run)
	return s, err
}

// runID gives the id of the run in a directory, and draws it at first.
func runID(dir string) (string, error) {
	name := filepath.Join(dir, idFile)
	data, err := os.ReadFile(name)
	if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 && cluster.Label(id, cluster.NameLimit) == id {
		return id, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	var b [16]byte
	rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	return id, os.WriteFile(name, []byte(id+"\n"), 0o644)
}
