package cluster

import (
	"errors"
	"strings"

	"tare/safetext"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// EnforceLabel is the label of a namespace that names the level of Pod Security that
// its pods must meet.
const EnforceLabel = "pod-security.kubernetes.io/enforce"

// Explain turns what admission, quota and rights say into something that says
// what to do; other errors stay as they are.
func Explain(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	message := safetext.Head(status.Status().Message, 1500)
	hint := ""
	switch {
	case strings.Contains(message, "violates PodSecurity"):
		hint = "; the namespace's Pod Security does not allow it: leave testbed.kubernetes.namespace out, or label it " + EnforceLabel + " accordingly"
	case strings.Contains(message, "exceeded quota"):
		hint = "; a quota of the namespace does not allow it: see kubectl describe quota, or lower testbed.kubernetes.resources"
	case strings.Contains(message, "admission webhook"):
		hint = "; an admission webhook of the cluster refuses it"
	case apierrors.IsForbidden(err) && strings.Contains(message, "cannot "):
		hint = "; tare doctor says which rights are missing, and how to grant them"
	}
	return &refusedError{text: message + hint, err: err}
}

// refusedError is an answer of the API server, printable and with a hint.
type refusedError struct {
	text string
	err  error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.err }
