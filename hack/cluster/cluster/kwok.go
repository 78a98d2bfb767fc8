package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tare/hack/cluster/build"
	"tare/hack/cluster/machine"
)

// kwokAnnotation marks the nodes that kwok speaks for, and taints them so that
// only pods which tolerate it are scheduled there.
const kwokAnnotation = "kwok.x-k8s.io/node"

func kwokProgram(source string) build.Program {
	return build.Program{Name: "kwok", Dir: filepath.Join(source, "kwok"), Package: "sigs.k8s.io/kwok/cmd/kwok",
		Flags: []string{"-ldflags=-s -w"}, Note: " (kwok: 2 minutes on two idle cores)"}
}

// kwokStages joins kwok's own descriptions of nodes that keep up their lease
// and of pods that are ready at once. Without any, kwok does nothing.
func kwokStages(ctx context.Context, kwok build.Program) ([]byte, error) {
	dir, err := kwok.ModuleDir(ctx, "sigs.k8s.io/kwok")
	if err != nil {
		return nil, err
	}
	var stages [][]byte
	for _, kind := range []string{"node/fast", "node/heartbeat-with-lease", "pod/fast"} {
		files, err := filepath.Glob(filepath.Join(dir, "kustomize/stage", kind, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			stages = append(stages, content)
		}
	}
	if len(stages) == 0 {
		return nil, fmt.Errorf("no stages below %s/kustomize/stage: another version of kwok?", dir)
	}
	return bytes.Join(stages, []byte("\n---\n")), nil
}

// pretend starts kwok and makes nodes for it.
func (c *Cluster) pretend(ctx context.Context, m machine.Machine, a *api, s supplies, nodes int) error {
	config := filepath.Join(m.Dir, "kwok.yaml")
	if err := os.WriteFile(config, s.stages, 0o644); err != nil {
		return err
	}
	err := m.Start(machine.Program{
		Name: "kwok",
		Args: []string{
			filepath.Join(s.bin, "kwok"), "--kubeconfig=" + c.files().kubeconfig("admin"), "--config=" + config,
			"--manage-all-nodes=false", "--manage-nodes-with-annotation-selector=" + kwokAnnotation + "=fake",
			"--node-lease-duration-seconds=40",
		},
		Env: environment(s.bin),
	})
	if err != nil {
		return err
	}
	name := func(i int) string { return fmt.Sprintf("kwok-%d", i) }
	for i := range nodes {
		size := object{"cpu": "32", "memory": "256Gi", "pods": "110"}
		err := a.create(ctx, "/api/v1/nodes", object{
			"metadata": object{
				"name":        name(i),
				"annotations": object{kwokAnnotation: "fake", "node.alpha.kubernetes.io/ttl": "0"},
				"labels":      object{"type": "kwok", "kubernetes.io/hostname": name(i), "kubernetes.io/os": "linux"},
			},
			"spec":   object{"taints": []object{{"key": kwokAnnotation, "value": "fake", "effect": "NoSchedule"}}},
			"status": object{"allocatable": size, "capacity": size},
		})
		if err != nil {
			return err
		}
	}
	for i := range nodes {
		err := wait(ctx, nodeLimit, name(i)+" to be ready", part{m, "kwok"}, func(ctx context.Context) error {
			return a.nodeReady(ctx, name(i))
		})
		if err != nil {
			return err
		}
	}
	return nil
}
