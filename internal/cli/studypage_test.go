package cli_test

// The text of docs/figures/study2.md between the numbers.
const (
	studyHead = `<!-- made by: go test ./internal/cli -run Study2 -update -->

# A published table, digit by digit: Vault on AKS, GKE and Constellation

The study (https://github.com/edgelesssys/vault-benchmarks, commit 0e9d86c) ran
vault-benchmark 100 times on each of three platforms: AKS, GKE, and Constellation
("c11n"), which runs the same on confidential virtual machines. It published means,
population variances, and differences in percent of Constellation. All numbers on
this page come from its 600 result files, with

` + "```sh" + `
git clone https://github.com/edgelesssys/vault-benchmarks
tare import vault-benchmark --dir five \
  --headline total:latency-mean,total:latency-p99,total:latency-max,total:latency-min \
  --arm aks=vault-benchmarks/data/1300w/5replicas/aks \
  --arm gke=vault-benchmarks/data/1300w/5replicas/gke \
  --arm c11n=vault-benchmarks/data/1300w/5replicas/c11n
tare show five --as published --digits 6
` + "```" + `

and, for the second half, the same with ` + "`2replicas`" + ` in place of ` + "`5replicas`" + `.
The four metrics of the study are named as headlines, because they were what was
claimed. The test that writes this page imports files with the same numbers, from
the table in ` + "`importer/vaultbench/testdata/study`" + `.

## Five replicas

Mean (population variance) over 100 runs, in seconds. All 300 runs are free of
errors, and all are in the table. The study's table has the same 24 numbers, to
the last digit; the test compares them.

`
	studyDifferences = `
The study's 8 differences are those relative to c11n, (c11n − arm) ÷ c11n. They
come out digit by digit as well. Relative to the arm, (c11n − arm) ÷ arm, the same
difference is another number: 25.7 %% more of Constellation is 34.6 %% more of GKE.

Beside each stands what the two-sample intervals (95 %%) say of it,
corrected by Holm's method: AKS is the baseline, so the run judges it against the
others as one family of 8 claims; GKE against c11n are a family of 4. Of the 8
published differences

- %d survive: the interval shows a difference in the direction published;
- %d is shown to lie within ±2 %%;
- %d are left open: 100 runs of 10 s do not tell whether they are there.

The platforms are different machines, so even what survives is observational. And
since the load is a closed loop of 1300 workers, the mean latency says nothing that
the throughput does not.

`
	studyTwo = `
## Two replicas

Here 7 runs on each platform failed about half of their requests. An error is a
fast answer, and the runs with errors have the lower mean latency. Tare's limit on
failed operations (0 % unless ` + "`tare import --errors`" + ` says otherwise) makes them
invalid, and the table is that of the other 93 runs on each platform:

`
	studyTwoAll = `
With ` + "`tare show two --as published --with-invalid`" + ` they are in the averages, as they
are in a table that checks no errors. The variance of the mean latency is then seven
to nine times as large:

`
	studyTwoDifferences = `
Relative to c11n, and with intervals for c11n against the arm. "All runs" is imported
with ` + "`--errors none`" + `, which lets the failed runs count. The interval is the
hull of two: the ranks hardly notice 7 of 100 odd values; Welch's t, which goes by
means and variances as the published table does, does, and stands beside it. With
the failed runs, the difference in mean latency is lost in them. Of the valid runs
alone it is not resolved either, since what they say must stand whatever the 7
missing runs of each platform are.

`
	studyFoot = `
Both readings of the table have the same 100 runs behind them; which of them enter is
decided by a rule that looks at errors and at no latency.
`
)
