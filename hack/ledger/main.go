// Command ledger writes docs/studies/ledger.md from files: the figures of the published documents
// (docs/studies/seeds/*.yaml), the rows that a person writes (docs/studies/ledger.yaml), and the kept runs
// (docs/studies/runs/). A row that says "made" must have a kept run whose record is whole and whose results show the
// row's quantity.
//
//	go run ./hack/ledger          write the page
//	go run ./hack/ledger -check   only compare it
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

// The ledger's files, relative to the repository.
const (
	seedsDir = "docs/studies/seeds"
	rowsFile = "docs/studies/ledger.yaml"
	pageFile = "docs/studies/ledger.md"
	runsDir  = "docs/studies/runs"
)

func main() {
	check := flag.Bool("check", false, "compare the page with the files, and write nothing")
	flag.Parse()
	if err := run(".", *check); err != nil {
		fmt.Fprintln(os.Stderr, "ledger:", err)
		os.Exit(1)
	}
}

// run writes or compares the page of the repository at root.
func run(root string, check bool) error {
	l, err := open(root)
	if err != nil {
		return err
	}
	if err := errors.Join(l.problems()...); err != nil {
		return err
	}
	page := filepath.Join(root, pageFile)
	want := l.page()
	if !check {
		return os.WriteFile(page, want, 0o644)
	}
	got, err := os.ReadFile(page)
	if err == nil && string(got) != string(want) {
		err = fmt.Errorf("%s is not up to date: go run ./hack/ledger writes it", pageFile)
	}
	return err
}
