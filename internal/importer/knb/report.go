package knb

// report is a result. Pointers distinguish a missing value from zero: knb writes no value if a test failed.
type report struct {
	Metadata struct {
		Generator  string `json:"generator"`
		Version    string `json:"version"`
		Date       string `json:"date"` // in UTC, such as "2020-08-22 19:46:20"
		ServerNode string `json:"server-node"`
		ClientNode string `json:"client-node"`
		Buffer     string `json:"socket-buffer-size"` // of UDP sockets
	} `json:"metadata"`
	Data struct {
		CPU        string `json:"cpu"` // of the server's node, like the next fields
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
	Bandwidth *float64 `json:"bandwidth"` // the received payload, in Mbit/s
	Client    node     `json:"client"`
	Server    node     `json:"server"`
	log       *log     // iperf3's output; only in the archive
}

// node is the load of one of the nodes during a test.
type node struct {
	CPU struct {
		Total *float64 `json:"total"` // % of all CPUs of the node
	} `json:"cpu"`
	Memory   *float64  `json:"ram"` // in MiB
	readings []reading // only in the archive
}

// reading is the state of a node in one second.
type reading struct {
	at          float64 // in s since 1970
	cpu, memory float64 // in % and MiB
}
