package storage

import (
	"context"
	"fmt"
	"os"
	"testing"

	"tare/testbed"
	"tare/workload/storage/residency"
)

// TestMain is the workload's helper, when started as that.
func TestMain(m *testing.M) {
	if testbed.HelperName() == residency.Helper.Name {
		if err := residency.Helper.Run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
