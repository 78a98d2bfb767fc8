package inventory

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Maker makes objects of one kind: a typed client of client-go.
type Maker[T metav1.Object] interface {
	Create(ctx context.Context, object T, o metav1.CreateOptions) (T, error)
	Get(ctx context.Context, name string, o metav1.GetOptions) (T, error)
}

// Make makes an object, which has been written down before. One that exists counts as
// made if it is this session's: the answer to an earlier try may have been lost.
func Make[T metav1.Object](ctx context.Context, owner Owner, by Maker[T], want T) (T, error) {
	made, err := by.Create(ctx, want, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	if made, err = by.Get(ctx, want.GetName(), metav1.GetOptions{}); err == nil && !owner.Owns(made) {
		err = errors.New("it exists already, and is not of this run")
	}
	return made, err
}
