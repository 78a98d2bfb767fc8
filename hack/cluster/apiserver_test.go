package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/hack/cluster/cluster"
)

// TestAuditAndEncryption sees in the API server's log what was asked of it, and in etcd's
// files that Secrets are not there in clear.
func TestAuditAndEncryption(t *testing.T) {
	requireCluster(t)
	before := takeTrace(t)
	name := testName("g")
	t.Cleanup(func() { must(t, name, "down") })
	must(t, name, "up", "--gvisor=false", "--audit", "Request", "--encryption", "secretbox")
	for _, what := range []string{"with an audit log of level Request\n", "with Secrets encrypted by secretbox\n"} {
		if status := must(t, name, "status"); !strings.Contains(status, what) {
			t.Errorf("status without %q: %s", what, status)
		}
	}
	if _, err := try(name, "up", "--encryption", "aescbc"); err == nil || !strings.Contains(err.Error(), "was brought up without Secrets encrypted by aescbc: take it down first") {
		t.Errorf("up with another encryption: %v", err)
	}

	must(t, name, "kubectl", "create", "secret", "generic", "one", "--from-literal=k=what-the-secret-says")
	must(t, name, "kubectl", "create", "configmap", "one", "--from-literal=k=what-the-map-says")
	dir := filepath.Join(cluster.DefaultBase, name, "control-plane")
	for text, want := range map[string]bool{"what-the-map-says": true, "k8s:enc:secretbox:v1:k1:": true, "what-the-secret-says": false} {
		eventually(t, fmt.Sprintf("%q in etcd's files: %t", text, want), func() error {
			if found, err := inFiles(filepath.Join(dir, "etcd"), text); err != nil || found != want {
				return fmt.Errorf("found: %t, %v", found, err)
			}
			return nil
		})
	}

	log, err := os.ReadFile(filepath.Join(dir, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	event := ""
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, `"verb":"create"`) && strings.Contains(line, `"resource":"configmaps","namespace":"default","name":"one"`) {
			event = line
		}
	}
	for text, want := range map[string]bool{`"level":"Request"`: true, `"requestObject":`: true, "what-the-map-says": true, `"responseObject":`: false} {
		if strings.Contains(event, text) != want {
			t.Errorf("%q in the log's line of the ConfigMap is not %t: %q", text, want, event)
		}
	}
	must(t, name, "down")
	before.expectSame(t)
}

// inFiles says whether a text is in any file below a directory.
func inFiles(dir, text string) (found bool, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || bytes.Contains(content, []byte(text))
		return err
	})
	return found, err
}
