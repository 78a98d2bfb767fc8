module tare/test/guest

go 1.26.0

require (
	golang.org/x/sys v0.49.0
	tare/image v0.0.0
)

replace tare/image => ../../image
