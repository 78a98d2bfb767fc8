module tare/hack/guest

go 1.26.0

require (
	golang.org/x/sys v0.49.0
	tare/hack/image v0.0.0
)

replace tare/hack/image => ../image
