// Package longcsv reads the plain table that a spreadsheet or any script can
// write: one value a row.
//
//	arm,round,metric,unit,better,value
//	plain,1,latency,ms,lower,12.3
//	mtls,1,latency,ms,lower,14.1
//
// The header names the columns, in any order and in either case. Only metric,
// better and value must be there. A trial is what stands in rows with the same
// arm, cell and round, wherever they are in the file; without rounds, the n-th
// values of all metrics of an arm and cell are its n-th trial. Where a round has
// several attempts, as tare export writes them, the last one is the trial.
//
// Where the column paired says false, as tare export has it for independent
// samples, rounds only number the trials, and nothing can be paired by them. Its
// column observational is passed over: every import is.
//
// A row that cannot be understood ends the file with an error that names line
// and column: what follows it cannot be trusted either. So does a malformed number: mostly
// the large values have thousands separators, and to drop just these would make the rest
// look good. A value that is missing, "NaN" or "-" only breaks its trial.
package longcsv

import (
	"tare/importer"
	"tare/importer/table"
)

// Format reads the long CSV.
var Format = importer.Format{
	Name:       "csv",
	Doc:        "a table with a header and one value a row: arm, round, metric, unit, better, value",
	Extensions: []string{".csv", ".tsv"},
	Read:       table.ReadLong,
}
