package catalog

import (
	"tare/importer"
	"tare/importer/fio"
	"tare/importer/iperf3"
	"tare/importer/knb"
	"tare/importer/kubestr"
	"tare/importer/longcsv"
	"tare/importer/vaultbench"
)

// Formats lists the result files of other tools that can be imported.
var Formats = []importer.Format{
	fio.Format,
	iperf3.Format,
	knb.Format,
	kubestr.Format,
	longcsv.Format,
	vaultbench.Format,
}
