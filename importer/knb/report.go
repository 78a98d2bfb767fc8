package knb

// report is a result. Pointers tell what is missing from what is zero: knb writes
// nothing where a test failed.
type report struct {
	Metadata struct {
		Generator  string `json:"generator"`
		Version    string `json:"version"`
		Date       string `json:"date"` // "2020-08-22 19:46:20", UTC
		ServerNode string `json:"server-node"`
		ClientNode string `json:"client-node"`
		Buffer     string `json:"socket-buffer-size"` // of UDP
	} `json:"metadata"`
	Data struct {
		CPU        string `json:"cpu"` // of the server's node, as are the next
		Kernel     string `json:"kernel"`
		Kubernetes string `json:"k8s-version"`
		MTU        string `json:"mtu"`
		Idle       *test  `json:"idle"`
		Pod        tests  `json:"pod2pod"`
		Service    tests  `json:"pod2svc"`
	} `json:"data"`
}

type tests struct {
	TCP *test `json:"tcp"`
	UDP *test `json:"udp"`
}

type test struct {
	Bandwidth *float64 `json:"bandwidth"` // Mbit/s received
	Client    node     `json:"client"`
	Server    node     `json:"server"`
	log       *log     // of iperf3; only in the archive
}

// node is what one of the nodes did meanwhile.
type node struct {
	CPU struct {
		Total *float64 `json:"total"` // % of all of its CPUs
	} `json:"cpu"`
	Memory   *float64  `json:"ram"` // MiB
	readings []reading // only in the archive
}

// reading is the state of a node in one second.
type reading struct {
	at          float64 // s since 1970
	cpu, memory float64 // % and MiB, as above
}
