package catalog

import (
	"tare/internal/importer"
	"tare/internal/importer/clusterloader2"
	"tare/internal/importer/fio"
	"tare/internal/importer/fortio"
	"tare/internal/importer/gobench"
	"tare/internal/importer/hyperfine"
	"tare/internal/importer/iperf3"
	"tare/internal/importer/k8snetperf"
	"tare/internal/importer/knb"
	"tare/internal/importer/kubestr"
	"tare/internal/importer/longcsv"
	"tare/internal/importer/netperf"
	"tare/internal/importer/table"
	"tare/internal/importer/unixbench"
	"tare/internal/importer/vaultbench"
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
