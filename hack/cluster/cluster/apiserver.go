package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var (
	auditLevels         = []string{"Metadata", "Request", "RequestResponse"}
	encryptionProviders = []string{"aescbc", "aesgcm", "secretbox"}
)

// auditLog is the API server's log of requests, in its machine's directory.
const auditLog = "audit.log"

// check refuses values that the API server would refuse.
func (o Options) check() error {
	for _, value := range []struct {
		name, given string
		known       []string
	}{{"audit level", o.Audit, auditLevels}, {"encryption provider", o.Encryption, encryptionProviders}, {"policy engine", o.Policy, engineNames()}} {
		if value.given != "" && !slices.Contains(value.known, value.given) {
			return fmt.Errorf("%s %q: known are %s", value.name, value.given, strings.Join(value.known, ", "))
		}
	}
	return nil
}

// apiServerFlags are those that the options ask for; the files that they name are written to dir.
func (o Options) apiServerFlags(dir string) ([]string, error) {
	var flags []string
	if o.Audit != "" {
		policy := filepath.Join(dir, "audit.json")
		flags = append(flags, "--audit-policy-file="+policy, "--audit-log-path="+filepath.Join(dir, auditLog),
			"--audit-log-maxsize=100", "--audit-log-maxbackup=1") // MiB
		if err := writeJSON(policy, auditPolicy(o.Audit)); err != nil {
			return nil, err
		}
	}
	if o.Encryption != "" {
		config := filepath.Join(dir, "encryption.json")
		flags = append(flags, "--encryption-provider-config="+config)
		if err := writeJSON(config, encryptSecrets(o.Encryption)); err != nil {
			return nil, err
		}
	}
	return append(flags, o.APIServerArgs...), nil
}

// auditPolicy: every request once, when it has been answered.
func auditPolicy(level string) object {
	return object{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
		"omitStages": []string{"RequestReceived"},
		"rules":      []object{{"level": level}},
	}
}

// encryptSecrets: by a key that only this cluster has. All three providers take one of 32 bytes.
func encryptSecrets(provider string) object {
	key := make([]byte, 32)
	rand.Read(key) // never fails
	return object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration",
		"resources": []object{{
			"resources": []string{"secrets"},
			"providers": []object{
				{provider: object{"keys": []object{{"name": "k1", "secret": base64.StdEncoding.EncodeToString(key)}}}},
				{"identity": object{}},
			},
		}},
	}
}

func writeJSON(file string, content object) error {
	text, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
