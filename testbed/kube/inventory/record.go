package inventory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"tare/experiment"
	"tare/safetext"
	"tare/testbed/kube/cluster"
)

// What is in the ConfigMap of a record, and how it is marked.
const (
	recordLabel      = "tare/record" // "v1"
	recordVersion    = "v1"
	holderAnnotation = "tare/holder" // on namespaces, for the moment in which there is no record yet

	keyHolder    = "holder"
	keyRenewed   = "renewed"
	keyInventory = "inventory"
)

// heartbeat is how often a living run renews its record. A holder that cannot be seen
// from here counts as gone when its record is older than holderGone.
const (
	heartbeat  = 15 * time.Second
	holderGone = 60 * time.Second
)

// Record is what one session of a run has on one cluster: a ConfigMap, named by the
// owner, that says who holds the run and when that was last true, and lists
// everything that the session has made or is about to make. Nothing else is needed to
// clean up after it.
type Record struct {
	on      *cluster.Cluster
	owner   Owner
	holder  holder
	limits  experiment.Timeouts
	earlier sync.Once // see RemoveEarlier

	guarding sync.Mutex // held while a deadline is made; taken before mu

	mu        sync.Mutex
	namespace string // where the ConfigMap is; "" before Begin
	items     []Item
	cleaned   error                // set when the ConfigMap, or a deadline, is found to be gone
	deadlines map[string]*deadline // by namespace
	stop      context.CancelFunc
	stopped   chan struct{}
}

// ErrCleaned ends a run whose record is gone: nobody would remove what it made then.
var ErrCleaned = errors.New("this run was cleaned away by tare clean, or its record was deleted: nothing more is made; start it again with tare resume")

// NewRecord is the record of a session on a cluster, where nothing is written yet.
func NewRecord(on *cluster.Cluster, s Session, limits experiment.Timeouts) *Record {
	h := thisProcess(s.Run)
	h.ID = s.id
	limits.Silence = cmp.Or(limits.Silence, cleanTimeouts.Silence)
	return &Record{on: on, owner: s.Owner, holder: h, limits: limits}
}

// Sign notes on a namespace that is about to be made whose it is: until Begin there
// is no record that says so.
func (r *Record) Sign(namespace *corev1.Namespace) {
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, holderAnnotation, r.holder.String())
}

// Begun says whether the record is in the cluster.
func (r *Record) Begun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namespace != ""
}

// Begin writes the record into a namespace, unless it is in one already, and
// begins to renew it.
func (r *Record) Begin(ctx context.Context, namespace string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.namespace != "" {
		return nil
	}
	labels := r.owner.Labels("", "")
	labels[recordLabel] = recordVersion
	data, err := r.data()
	if err != nil {
		return err
	}
	data[keyHolder] = r.holder.String()
	_, err = r.on.Client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: r.owner.record(), Namespace: namespace, Labels: labels},
		Data:       data,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) { // the name is random: an earlier try made it
		return fmt.Errorf("write the record of the run into namespace %s: %w", namespace, cluster.Explain(err))
	}
	r.namespace = namespace
	renew, cancel := context.WithCancel(context.Background())
	r.stop, r.stopped = cancel, make(chan struct{})
	go r.renew(renew)
	return nil
}

// data is what changes in the record.
func (r *Record) data() (map[string]string, error) {
	inventory, err := json.Marshal(r.items)
	if err != nil {
		return nil, err
	}
	return map[string]string{keyRenewed: time.Now().UTC().Format(time.RFC3339), keyInventory: string(inventory)}, nil
}

// renew shows at every heartbeat that the holder lives, and puts the deadlines off. It may
// fail now and then. But when the ConfigMap or a deadline is gone, it is gone for good, and
// that is remembered.
func (r *Record) renew(ctx context.Context) {
	defer close(r.stopped)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	off := time.NewTicker(r.pauseBetween())
	defer off.Stop()
	for {
		select {
		case <-tick.C:
			r.mu.Lock()
			_ = r.write(ctx)
			r.mu.Unlock()
		case <-off.C:
			r.putOff(ctx)
		case <-ctx.Done():
			return
		}
		if over := r.Present(); over != nil {
			r.on.Say("context " + r.on.Context + ": " + over.Error())
			return
		}
	}
}

// write brings the ConfigMap up to date. The caller holds the lock.
func (r *Record) write(ctx context.Context) error {
	if r.namespace == "" || r.cleaned != nil {
		return r.cleaned
	}
	data, err := r.data()
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = r.on.Client.CoreV1().ConfigMaps(r.namespace).Patch(ctx, r.owner.record(), types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		r.cleaned = fmt.Errorf("ConfigMap %s in namespace %s: %w", r.owner.record(), r.namespace, ErrCleaned)
		return r.cleaned
	}
	if err != nil {
		return fmt.Errorf("record in the cluster what is about to be made (ConfigMap %s in namespace %s): %w", r.owner.record(), r.namespace, cluster.Explain(err))
	}
	return nil
}

// Add writes down what is about to be made. It writes even when all of it is written
// down already: so a run whose record is gone learns it here, and makes nothing.
func (r *Record) Add(ctx context.Context, items ...Item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := slices.Clone(r.items)
	for _, i := range items {
		if !slices.ContainsFunc(r.items, i.same) {
			r.items = append(r.items, i)
		}
	}
	if len(r.items) > maxItems {
		r.items = before
		return fmt.Errorf("a run lists at most %d objects and kinds of objects on a cluster, so that tare clean can read it", maxItems)
	}
	return r.write(ctx)
}

// Present is ErrCleaned when the record is known to be gone. It does not ask the
// cluster.
func (r *Record) Present() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cleaned
}

// Lists says whether anything of a resource is written down.
func (r *Record) Lists(resource schema.GroupResource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.items, func(i Item) bool { return i.gvr().GroupResource() == resource })
}

// strike takes what is gone off the list.
func (r *Record) strike(ctx context.Context, items ...Item) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = slices.DeleteFunc(r.items, func(i Item) bool { return slices.ContainsFunc(items, i.same) })
	return r.write(ctx)
}

// end stops renewing and gives the inventory and where the record is.
func (r *Record) end() (items []Item, namespace string) {
	r.mu.Lock()
	items, namespace = slices.Clone(r.items), r.namespace
	stop, stopped := r.stop, r.stopped
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
	return items, namespace
}

// readRecord reads the record of any run: who holds it, when that was last true, and
// what it lists.
func readRecord(c *corev1.ConfigMap) (h holder, renewed time.Time, items []Item, err error) {
	if v := c.Labels[recordLabel]; v != recordVersion {
		return h, renewed, nil, fmt.Errorf("a record of version %q, which this Tare does not know", safetext.Head(v, 64))
	}
	h, err = readHolder(c.Data[keyHolder])
	items, badItems := readItems(c.Data[keyInventory])
	renewed, badTime := time.Parse(time.RFC3339, c.Data[keyRenewed])
	if len(c.ManagedFields) > 0 {
		renewed = time.Time{} // when the API server saw the last change is better: all share its clock
	}
	for _, f := range c.ManagedFields {
		if f.Time != nil && f.Time.After(renewed) {
			renewed = f.Time.Time
		}
	}
	return h, renewed, items, errors.Join(err, badItems, badTime)
}

// Maker makes objects of one kind: a typed client of client-go.
type Maker[T metav1.Object] interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
}

// Make makes an object, which has been written down before, and which goes with the
// deadline of its namespace. One that exists counts as made if it is this session's: the
// answer to an earlier try may have been lost.
func Make[T metav1.Object](ctx context.Context, r *Record, by Maker[T], want T) (T, error) {
	r.Own(want)
	made, err := by.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	if made, err = by.Get(ctx, want.GetName(), metav1.GetOptions{}); err == nil && !r.owner.Owns(made) {
		err = errors.New("it exists already, and is not of this run")
	}
	return made, err
}
