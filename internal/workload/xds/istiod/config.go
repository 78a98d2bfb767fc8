package istiod

import (
	"fmt"
	"strings"
)

// movingFile is the file with the endpoint that a change moves.
const movingFile = "moving.yaml"

// services returns n services, for which sidecars must use mutual TLS.
func services(n int) string {
	var b strings.Builder
	b.WriteString(`apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
`)
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: echo-%d, namespace: mesh}
spec: {hosts: [echo-%[1]d.mesh.svc.cluster.local], addresses: [240.240.%d.%d], location: MESH_INTERNAL, resolution: STATIC,
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}], workloadSelector: {labels: {app: echo-%[1]d}}}
`, i, i/250, 1+i%250)
	}
	return b.String()
}

// sidecarEndpoints returns an endpoint for each of n sidecars, in turn for the services.
func sidecarEndpoints(n, services int) string {
	var b strings.Builder
	for i := range n {
		address := fmt.Sprintf("10.%d.%d.%d", 1+i/62500, i/250%250, 1+i%250)
		b.WriteString("---\n" + endpoint(fmt.Sprintf("echo-%d", i+1), address, i%services))
	}
	return b.String()
}

// moving returns one more endpoint of the first service. Each number from 0 to 16,777,215 gives another address.
func moving(number int64) string {
	return endpoint("moving", fmt.Sprintf("11.%d.%d.%d", number>>16&255, number>>8&255, number&255), 0)
}

func endpoint(name, address string, service int) string {
	return fmt.Sprintf(`apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: %s, namespace: mesh}
spec: {address: %s, labels: {app: echo-%d, security.istio.io/tlsMode: istio}, serviceAccount: default}
`, name, address, service)
}
