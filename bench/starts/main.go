// Command starts measures, on a cluster, what three ways of running a trial's
// program cost besides the program: a message to the agent in the pod over a
// connection that stays open (what Tare does), an exec, and a Job.
//
//	go run ./bench/starts -kubeconfig /var/lib/tare-cluster/test/kubeconfig
//
// The program is `sleep 1`. In every round each way runs once, in random order,
// and so does nothing at all for as long. Run it on the machine that the cluster
// is on (make cluster), since it reads the CPU time of that whole machine: the
// API server's, the kubelet's, the container runtime's and Tare's own. It prints
// the median over the rounds and the interval of the difference to doing nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"tare/experiment"
	"tare/machine"
	"tare/stats"
	"tare/testbed"
	"tare/testbed/kube"
	"tare/testbed/kube/pods"
)

// nap is what the program does, and for how long.
const nap = time.Second

func main() {
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "kubeconfig of a cluster on this machine")
	rounds := flag.Int("rounds", 20, "rounds")
	seed := flag.Uint64("seed", 1, "seed of the order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := compare(ctx, *kubeconfig, *rounds, *seed)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "starts:", err)
		os.Exit(1)
	}
}

// way is one way of running the program.
type way struct {
	name string
	run  func(context.Context) error
	// by round: CPU time of the machine, and time beyond the nap
	busy, late []float64
}

func compare(ctx context.Context, kubeconfig string, rounds int, seed uint64) (err error) {
	bed, err := kube.New(kube.Options{Kubeconfig: kubeconfig, Version: "devel"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	opened, err := bed.Open(ctx, testbed.Request{Name: "starts", Needs: experiment.Needs{Network: true}, Level: experiment.NewKubernetes()})
	if err != nil {
		return err
	}
	site, err := kube.Of(opened)
	if err != nil {
		return err
	}
	if err := site.Ready(ctx); err != nil {
		return err
	}
	ways := []*way{
		{name: "nothing", run: idle},
		{name: "message to the agent", run: byAgent(site)},
		{name: "exec", run: byExec(site)},
		{name: "Job", run: byJob(site)},
	}
	sampler := machine.NewSampler()
	order := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds + 1 { // the first is not counted
		for _, i := range order.Perm(len(ways)) {
			if err := ways[i].measure(ctx, sampler, round > 0); err != nil {
				return fmt.Errorf("%s: %w", ways[i].name, err)
			}
		}
	}
	return print(ways)
}

// measure runs the way once.
func (w *way) measure(ctx context.Context, sampler *machine.Sampler, counts bool) error {
	if err := sampler.Start(); err != nil {
		return err
	}
	start := time.Now()
	if err := w.run(ctx); err != nil {
		return err
	}
	late := time.Since(start) - nap
	// What a way leaves to be done after its end is its cost as well: all are
	// watched for the same time.
	select {
	case <-time.After(max(0, 5*time.Second-time.Since(start))):
	case <-ctx.Done():
		return ctx.Err()
	}
	c, err := sampler.Stop(0)
	if err == nil && counts {
		w.busy = append(w.busy, c.Busy.Seconds())
		w.late = append(w.late, late.Seconds())
	}
	return err
}

// idle does nothing for as long as the program takes.
func idle(ctx context.Context) error {
	select {
	case <-time.After(nap):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var program = []string{"sleep", "1"}

// byAgent sends a message to the agent in the client's pod.
func byAgent(site *kube.Site) func(context.Context) error {
	return func(ctx context.Context) error {
		p, err := site.Start(ctx, testbed.ClientPod, testbed.Command{Args: program})
		if err != nil {
			return err
		}
		_, err = p.Wait()
		return err
	}
}

// byExec execs in the client's pod.
func byExec(site *kube.Site) func(context.Context) error {
	return func(ctx context.Context) error {
		now, err := site.Pods(ctx)
		if err != nil {
			return err
		}
		_, _, err = site.Exec(ctx, site.Namespace(), now[testbed.ClientPod].Name, pods.Container, program)
		return err
	}
}

// byJob makes a Job with a pod like the client's, waits until it is complete,
// and deletes it.
func byJob(site *kube.Site) func(context.Context) error {
	return func(ctx context.Context) error {
		cluster, err := site.Cluster(ctx)
		if err != nil {
			return err
		}
		pods, err := site.Pods(ctx)
		if err != nil {
			return err
		}
		jobs := cluster.Client.BatchV1().Jobs(site.Namespace())
		made, err := jobs.Create(ctx, job(pods[testbed.ClientPod]), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		now := metav1.DeletePropagationBackground
		defer func() {
			_ = jobs.Delete(context.WithoutCancel(ctx), made.Name, metav1.DeleteOptions{PropagationPolicy: &now})
		}()
		return complete(ctx, func() (watch.Interface, error) {
			return jobs.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + made.Name})
		})
	}
}

// job is a Job that runs the program in a pod like the one given.
func job(like *corev1.Pod) *batchv1.Job {
	spec := corev1.PodSpec{
		RestartPolicy:   corev1.RestartPolicyNever,
		NodeSelector:    like.Spec.NodeSelector,
		SecurityContext: like.Spec.SecurityContext,
		Tolerations:     like.Spec.Tolerations,
	}
	for _, c := range like.Spec.Containers {
		if c.Name == pods.Container {
			spec.Containers = append(spec.Containers, corev1.Container{
				Name: c.Name, Image: c.Image, ImagePullPolicy: c.ImagePullPolicy, Command: program,
				Resources: c.Resources, SecurityContext: c.SecurityContext,
			})
		}
	}
	never := int32(0)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "starts-", Labels: like.Labels},
		Spec:       batchv1.JobSpec{BackoffLimit: &never, Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}

// complete waits until the Job that is watched has come to its end.
func complete(ctx context.Context, open func() (watch.Interface, error)) error {
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	w, err := open()
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return errors.New("the watch of the Job ended")
			}
			j, isJob := e.Object.(*batchv1.Job)
			switch {
			case isJob && j.Status.Succeeded > 0:
				return nil
			case isJob && j.Status.Failed > 0:
				return errors.New("the Job failed")
			}
		case <-limited.Done():
			return fmt.Errorf("the Job did not complete: %w", limited.Err())
		}
	}
}

// print prints the medians and the intervals of the differences to doing nothing.
func print(ways []*way) error {
	t := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "way\tCPU of the machine, beyond doing nothing\tend after the program's\t")
	for _, w := range ways {
		cpu := "-"
		if w != ways[0] {
			difference := make([]float64, len(w.busy))
			for i := range difference {
				difference[i] = (w.busy[i] - ways[0].busy[i]) * 1000
			}
			e, err := stats.SignedRank(difference, 0.95)
			if err != nil {
				return err
			}
			cpu = fmt.Sprintf("%.0f ms [%.0f, %.0f]", e.Point, e.Lo, e.Hi)
		}
		fmt.Fprintf(t, "%s\t%s\t%.0f ms (worst %.0f)\n", w.name, cpu, stats.Median(w.late)*1000, slices.Max(w.late)*1000)
	}
	return t.Flush()
}
