package kube

import (
	"context"
	"fmt"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed"
)

// Examination is what was found on one cluster by trying. Nothing is made there:
// objects are only offered to the API server by dry runs, which pass admission.
type Examination struct {
	Context  string
	Findings []testbed.Finding // a run needs all of them
	Optional []testbed.Finding // a run tells less without
}

// Examine tries whether the cluster of a context answers and which of the rights
// that a use needs there are.
func (t *Testbed) Examine(ctx context.Context, name string, limits experiment.Timeouts, u Use) (Examination, error) {
	on, err := t.run.onCluster(ctx, name, limits)
	if err != nil {
		if ctx.Err() != nil {
			return Examination{}, ctx.Err()
		}
		return Examination{Context: name, Findings: []testbed.Finding{{Name: "API server", Status: testbed.Refused, Detail: safetext.Head(err.Error(), 1000)}}}, nil
	}
	e := Examination{Context: on.Context}
	server := testbed.Finding{Name: "API server", Status: testbed.Works}
	if v, err := on.Client.Discovery().ServerVersion(); err != nil {
		server.Status, server.Detail = testbed.Refused, safetext.Head(err.Error(), 1000)
	} else {
		server.Detail = fmt.Sprintf("version %s at %s", short(v.GitVersion), on.Config.Host)
	}
	e.Findings = append(e.Findings, server)
	rights := Rights(u)
	findings, err := access(ctx, on.Client, rights)
	if err != nil {
		return e, fmt.Errorf("context %s: %w", on.Context, err)
	}
	for i, f := range findings {
		if rights[i].Optional {
			e.Optional = append(e.Optional, f)
		} else {
			e.Findings = append(e.Findings, f)
		}
	}
	return e, nil
}
