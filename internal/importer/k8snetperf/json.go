package k8snetperf

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"tare/internal/importer"
	"tare/internal/toolformat/jsondoc"
)

// document is one element of the output of --json, or a row of the table.
type document struct {
	Timestamp      time.Time `json:"timestamp"`
	Driver         string    `json:"driver"`
	Profile        string    `json:"profile"`
	HostNetwork    bool      `json:"hostNetwork"`
	Service        bool      `json:"service"`
	Local          bool      `json:"local"`
	Virt           bool      `json:"virt"`
	AcrossAZ       bool      `json:"acrossAZ"`
	ExternalServer bool      `json:"externalServer"`
	Parallelism    int       `json:"parallelism"`
	MessageSize    int       `json:"messageSize"`
	Burst          int       `json:"burst"`
	Samples        int       `json:"samples"`
	Duration       int       `json:"duration"` // the duration of a sample, in s
	Throughput     *float64  `json:"throughput"`
	Latency        float64   `json:"latency"` // the mean of the samples' 99th percentiles; 0: unknown
	TputMetric     string    `json:"tputMetric"`
	LtcyMetric     string    `json:"ltcyMetric"`
	Retransmits    *float64  `json:"tcpRetransmits"`
	Loss           *float64  `json:"udpLossPercent"`
	ClientCPU      node      `json:"clientCPU"`
	ServerCPU      node      `json:"serverCPU"`
	UDN            string    `json:"udnInfo"`
	Bridge         string    `json:"bridgeInfo"`
	SRIOV          string    `json:"sriovInfo"`
	Macvlan        string    `json:"macvlanInfo"`
	Localnet       string    `json:"localnetInfo"`
	ToolVersion    string    `json:"toolVersion"`
	Metadata       struct {
		Kernel   string `json:"kernel"`
		MTU      int    `json:"mtu"`
		Platform string `json:"platform"`
		K8s      string `json:"k8sVersion"`
		SDN      string `json:"sdnType"`
		Workers  string `json:"workerNodesType"`
	} `json:"metadata"`

	about map[string]string // facts from the table's columns
}

// microseconds is the only unit of Latency that is read.
const microseconds = "usec"

// node is the CPU time of a node by use, in %. If the tool collected none, all are zero.
type node struct {
	Idle   float64 `json:"idleCPU"`
	User   float64 `json:"userCPU"`
	System float64 `json:"systemCPU"`
	Steal  float64 `json:"stealCPU"`
	Nice   float64 `json:"niceCPU"`
	IRQ    float64 `json:"irqCPU"`
	Soft   float64 `json:"softCPU"`
}

// busy returns the share of time neither idle nor waiting; nil if the tool collected none.
func (n node) busy() *float64 {
	sum := n.User + n.System + n.Nice + n.IRQ + n.Soft
	if sum == 0 && n.Idle == 0 {
		return nil
	}
	return &sum
}

// readJSON reads the output of --json, which stands between the tool's messages.
func readJSON(data []byte) ([]importer.Trial, error) {
	docs, err := jsondoc.First(bytes.NewReader(data), func(list *[]document) bool {
		return len(*list) > 0 && (*list)[0].Driver != "" && (*list)[0].Profile != ""
	}, "no result of k8s-netperf: it writes result-N.csv, and prints JSON with --json")
	if err != nil {
		return nil, err
	}
	trials := make([]importer.Trial, len(*docs))
	for i := range *docs {
		if trials[i], err = (*docs)[i].trial(); err != nil {
			return nil, fmt.Errorf("result %d: %w", i+1, err)
		}
	}
	return trials, nil
}

func (d *document) facts() map[string]string {
	facts := map[string]string{
		"k8s-netperf version": d.ToolVersion, "kernel": d.Metadata.Kernel, "platform": d.Metadata.Platform,
		"kubernetes version": d.Metadata.K8s, "network plug-in": d.Metadata.SDN, "instance type": d.Metadata.Workers,
		"user-defined network": d.UDN, "bridge": d.Bridge, "SR-IOV": d.SRIOV, "macvlan": d.Macvlan, "localnet": d.Localnet,
	}
	if d.Metadata.MTU > 0 {
		facts["mtu"] = fmt.Sprint(d.Metadata.MTU)
	}
	for name, on := range map[string]bool{"virtual machines": d.Virt, "external server": d.ExternalServer, "across zones": d.AcrossAZ} {
		if on {
			facts[name] = "true"
		}
	}
	maps.Copy(facts, d.about)
	return facts
}
