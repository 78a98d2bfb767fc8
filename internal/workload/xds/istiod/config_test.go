package istiod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConfiguration(t *testing.T) {
	want := `apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: istio-system}
spec: {mtls: {mode: STRICT}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: echo-0, namespace: mesh}
spec: {hosts: [echo-0.mesh.svc.cluster.local], addresses: [240.240.0.1], location: MESH_INTERNAL, resolution: STATIC,
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}], workloadSelector: {labels: {app: echo-0}}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: echo-1, namespace: mesh}
spec: {hosts: [echo-1.mesh.svc.cluster.local], addresses: [240.240.0.2], location: MESH_INTERNAL, resolution: STATIC,
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}], workloadSelector: {labels: {app: echo-1}}}
`
	if diff := cmp.Diff(want, services(2)); diff != "" {
		t.Error(diff)
	}
	want = `---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: echo-1, namespace: mesh}
spec: {address: 10.1.0.1, labels: {app: echo-0, security.istio.io/tlsMode: istio}, serviceAccount: default}
---
apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: echo-2, namespace: mesh}
spec: {address: 10.1.0.2, labels: {app: echo-1, security.istio.io/tlsMode: istio}, serviceAccount: default}
`
	if diff := cmp.Diff(want, sidecarEndpoints(2, 2)); diff != "" {
		t.Error(diff)
	}
	want = `apiVersion: networking.istio.io/v1
kind: WorkloadEntry
metadata: {name: moving, namespace: mesh}
spec: {address: 11.1.2.3, labels: {app: echo-0, security.istio.io/tlsMode: istio}, serviceAccount: default}
`
	if diff := cmp.Diff(want, moving(7<<24|0x010203)); diff != "" {
		t.Error(diff)
	}
}
