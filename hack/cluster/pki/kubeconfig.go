package pki

import "encoding/json"

// Kubeconfig is a self-contained kubeconfig (as JSON, which is YAML too) with
// one context that is named after its cluster, and a user of that cluster's, so that
// two of them can be joined in KUBECONFIG.
func Kubeconfig(cluster, server, user string, authority []byte, client Pair) ([]byte, error) {
	type object = map[string]any
	user += "@" + cluster
	return json.MarshalIndent(object{
		"apiVersion": "v1",
		"kind":       "Config",
		"clusters": []object{{"name": cluster, "cluster": object{
			"server": server, "certificate-authority-data": authority,
		}}},
		"users": []object{{"name": user, "user": object{
			"client-certificate-data": client.Cert, "client-key-data": client.Key,
		}}},
		"contexts":        []object{{"name": cluster, "context": object{"cluster": cluster, "user": user}}},
		"current-context": cluster,
	}, "", "  ")
}
