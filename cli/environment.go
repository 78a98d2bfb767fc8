package cli

import (
	"context"
	"slices"

	"tare/experiment"
	"tare/machine"
	"tare/workload"
)

// environment describes the machine and the programs that the experiment runs.
func environment(ctx context.Context, x *experiment.Expansion) *machine.Environment {
	var tools []machine.ToolQuery
	for _, cell := range x.Cells {
		tooled, ok := cell.Workload.(workload.Tooled)
		if !ok {
			continue
		}
		for _, tool := range tooled.Tools() {
			if !slices.ContainsFunc(tools, func(t machine.ToolQuery) bool { return t.Name == tool.Name }) {
				tools = append(tools, tool)
			}
		}
	}
	return machine.Describe(ctx, Version(), tools)
}
