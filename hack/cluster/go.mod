module tare/hack/cluster

go 1.26.0

require (
	github.com/google/go-containerregistry v0.21.6
	github.com/vishvananda/netlink v1.3.1
	github.com/vishvananda/netns v0.0.5
	golang.org/x/sync v0.22.0
	golang.org/x/sys v0.49.0
	tare/hack/image v0.0.0
)

replace tare/hack/image => ../image

require (
	github.com/klauspost/compress v1.19.2 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
)
