package cli

import (
	"context"
	"slices"

	"tare/experiment"
	"tare/machine"
)

// environment describes the machine and the programs that the experiment runs.
func environment(ctx context.Context, x *experiment.Expansion) *machine.Environment {
	var tools []machine.ToolQuery
	add := func(d experiment.Declaration) {
		for _, tool := range d.Tools {
			if !slices.ContainsFunc(tools, func(t machine.ToolQuery) bool { return t.Name == tool.Name }) {
				tools = append(tools, machine.ToolQuery{Name: tool.Name, Args: tool.Version})
			}
		}
	}
	for _, items := range x.Layers {
		for _, item := range items {
			add(item.Config.Declare())
		}
	}
	for _, cell := range x.Cells {
		add(cell.Workload.Declare())
	}
	return machine.Describe(ctx, Version(), tools)
}
