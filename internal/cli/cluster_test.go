package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"tare/internal/test/golden"
	"tare/internal/testbed/kube/inventory"
	"tare/internal/testbed/kube/kubetest"
)

// TestClusterScripts runs whole experiments on a cluster, with Tare's image loaded. They run one after the
// other, since each checks that it leaves nothing behind.
func TestClusterScripts(t *testing.T) {
	t.Parallel()
	onCluster(t, "testdata/cluster")
}

// TestProductScripts runs shipped examples on a cluster that has the product they measure.
func TestProductScripts(t *testing.T) {
	if os.Getenv("TARE_TEST_PRODUCTS") == "" {
		t.Skip("TARE_TEST_PRODUCTS is not set: make test-products brings up a cluster with products and sets it")
	}
	onCluster(t, "testdata/products")
}

// onCluster runs the scripts of a directory.
func onCluster(t *testing.T, dir string) {
	kubeconfig := kubetest.Kubeconfig(t)
	before, err := owners(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	testscript.RunT(inOrder{t}, testscript.Params{
		Dir:           dir,
		UpdateScripts: golden.Update(),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"killed":             killed,
			"wait-trial":         waitTrial,
			"exits":              exits,
			"proofs":             proofs,
			"pauses":             pauses,
			"nothing-on-cluster": nothingOnCluster(kubeconfig, before),
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KUBECONFIG", kubeconfig)
			return nil
		},
	})
}

// inOrder prevents scripts from running at the same time.
type inOrder struct{ *testing.T }

// Parallel does nothing, so that scripts run one after the other.
func (inOrder) Parallel() {}

// Run runs a script under its own name.
func (t inOrder) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(inOrder{t}) })
}

// Verbose reports whether the script's log should be printed.
func (inOrder) Verbose() bool { return testing.Verbose() }

// owners returns the objects on the cluster that belong to runs, by the names of the runs.
func owners(kubeconfig string) (map[string][]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	owned := metav1.ListOptions{LabelSelector: inventory.OwnerLabel}
	found := map[string][]string{}
	add := func(kind string, object metav1.ObjectMeta) {
		owner := object.Labels[inventory.OwnerLabel]
		found[owner] = append(found[owner], fmt.Sprintf("%s %s/%s", kind, object.Namespace, object.Name))
	}
	namespaces, err1 := client.CoreV1().Namespaces().List(ctx, owned)
	pods, err2 := client.CoreV1().Pods("").List(ctx, owned)
	records, err3 := client.CoreV1().ConfigMaps("").List(ctx, owned)
	jobs, err4 := client.BatchV1().Jobs("").List(ctx, owned)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for _, o := range jobs.Items {
		add("job", o.ObjectMeta)
	}
	for _, o := range namespaces.Items {
		add("namespace", o.ObjectMeta)
	}
	for _, o := range pods.Items {
		add("pod", o.ObjectMeta)
	}
	for _, o := range records.Items {
		add("configmap", o.ObjectMeta)
	}
	return found, nil
}

// nothingOnCluster fails if the cluster has an object of a run that it did not have before the tests. With !, it
// fails if the cluster has no such object.
func nothingOnCluster(kubeconfig string, before map[string][]string) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, _ []string) {
		left, err := owners(kubeconfig)
		ts.Check(err)
		for owner := range before {
			delete(left, owner)
		}
		switch {
		case neg && len(left) == 0:
			ts.Fatalf("nothing of a run is on the cluster")
		case !neg && len(left) > 0:
			ts.Fatalf("left on the cluster: %v", left)
		}
	}
}

// record holds the fields of a line of trials.jsonl that the tests need.
type record struct {
	Arm     string
	Start   time.Time
	Wall    time.Duration
	Invalid []json.RawMessage
	Checks  []struct {
		Layer, Name, Observed string
		OK                    bool
	}
}

func records(ts *testscript.TestScript, dir string) []record {
	var all []record
	for line := range strings.Lines(ts.ReadFile(dir + "/trials.jsonl")) {
		var r record
		ts.Check(json.Unmarshal([]byte(line), &r))
		all = append(all, r)
	}
	return all
}

// proofs fails unless the proofs of every valid trial of an arm begin with the given texts: proofs DIR ARM
// CHECK=BEGINNING....
func proofs(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: proofs DIR ARM CHECK=BEGINNING...")
	}
	trials := 0
	for _, r := range records(ts, args[0]) {
		if r.Arm != args[1] || len(r.Invalid) > 0 {
			continue
		}
		trials++
		for _, want := range args[2:] {
			shown := false
			for _, c := range r.Checks {
				shown = shown || c.OK && strings.HasPrefix(c.Name+"="+c.Observed, want)
			}
			if !shown {
				ts.Fatalf("a trial of %s does not show %s: %+v", r.Arm, want, r.Checks)
			}
		}
	}
	if trials == 0 {
		ts.Fatalf("no valid trial of %s", args[1])
	}
}

// pauses prints the times between the end of a trial and the start of the next: pauses DIR.
func pauses(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: pauses DIR")
	}
	all := records(ts, args[0])
	var times []time.Duration
	for i := 1; i < len(all); i++ {
		times = append(times, all[i].Start.Sub(all[i-1].Start.Add(all[i-1].Wall)))
	}
	if len(times) == 0 {
		ts.Fatalf("%s has no two trials", args[0])
	}
	slices.Sort(times)
	fmt.Fprintf(os.Stderr, "time between trials on the cluster: median %v, longest %v (%d)\n",
		times[len(times)/2].Round(time.Millisecond), times[len(times)-1].Round(time.Millisecond), len(times))
}
