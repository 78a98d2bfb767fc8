package render

import (
	"context"
	"strconv"
)

// figures renders SVG.
var figures = program{
	name: "rsvg-convert", names: []string{"rsvg-convert"}, what: "a picture",
	packages: map[string]string{"linux": "apt-get install librsvg2-bin", "darwin": "brew install librsvg", "windows": "scoop install librsvg"},
}

// Zoom is how many pixels of a PNG stand for one of a picture, so that it is
// sharp on the screens of today.
const Zoom = 2

// Figure renders an SVG picture.
func Figure(ctx context.Context, svg string, to Format) ([]byte, error) {
	args := []string{"--format", string(to)}
	if to == PNG {
		args = append(args, "--zoom", strconv.Itoa(Zoom))
	}
	return figures.run(ctx, []byte(svg), args...)
}
