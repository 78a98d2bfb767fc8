module tare/image

go 1.26.0

require tare/test/cluster v0.0.0

require (
	github.com/google/go-containerregistry v0.21.6 // indirect
	github.com/klauspost/compress v1.19.2 // indirect
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/opencontainers/image-spec v1.1.1 // indirect
)

replace tare/test/cluster => ../test/cluster
