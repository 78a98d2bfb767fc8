package machine

// Cluster describes a Kubernetes cluster that trials ran on.
type Cluster struct {
	Context  string `json:"context"`
	UID      string `json:"uid"`      // of the namespace kube-system
	Version  string `json:"version"`  // of the API server
	Platform string `json:"platform"` // "linux/amd64"
	Nodes    []Node `json:"nodes"`    // those that trials ran on
	// Components are images of what is known to matter for results (the network
	// plug-in, the service mesh), by the name of the workload that runs them.
	Components map[string]string `json:"components,omitempty"`
}

// Node is one node of a cluster.
type Node struct {
	Name         string            `json:"name"`
	Kernel       string            `json:"kernel"`
	OS           string            `json:"os"`
	Architecture string            `json:"architecture"`
	Runtime      string            `json:"runtime"` // "containerd://1.7.27"
	Kubelet      string            `json:"kubelet"`
	Zone         string            `json:"zone,omitempty"`
	Region       string            `json:"region,omitempty"`
	Instance     string            `json:"instance,omitempty"` // type of the machine
	CPU          string            `json:"cpu,omitempty"`      // model
	CPUs         string            `json:"cpus"`               // capacity
	Memory       string            `json:"memory"`             // capacity
	Confidential string            `json:"confidential,omitempty"`
	BootID       string            `json:"bootID,omitempty"` // nodes with the same one share a kernel
	Images       map[string]string `json:"images,omitempty"` // digests of the images of Tare's pods, by container
}
