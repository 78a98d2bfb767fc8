package catalog

import (
	"tare/importer"
	"tare/importer/clusterloader2"
	"tare/importer/fio"
	"tare/importer/fortio"
	"tare/importer/gobench"
	"tare/importer/hyperfine"
	"tare/importer/iperf3"
	"tare/importer/k8snetperf"
	"tare/importer/knb"
	"tare/importer/kubestr"
	"tare/importer/longcsv"
	"tare/importer/netperf"
	"tare/importer/table"
	"tare/importer/unixbench"
	"tare/importer/vaultbench"
)

// Formats lists the result files of other tools that can be imported.
var Formats = []importer.Format{
	clusterloader2.Format,
	fio.Format,
	fortio.Format,
	gobench.Format,
	hyperfine.Format,
	iperf3.Format,
	k8snetperf.Format,
	knb.Format,
	kubestr.Format,
	longcsv.Format,
	netperf.Format,
	unixbench.Format,
	vaultbench.Format,
}

// Imports lists all arguments of tare import: the formats, Auto, which recognises the format of each file, and
// table, which needs a mapping file.
var Imports = append([]importer.Format{
	{Name: importer.Auto, Doc: "files of any of these tools, also of several: what a file is, its content tells"},
	table.Format,
}, Formats...)
