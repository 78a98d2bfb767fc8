//go:build !linux

package wireguard

import (
	"errors"

	"tare/internal/layer/tunnel"
)

var errSystem = errors.New("tunnels need Linux")

func lacks() error { return errSystem }

func open(tunnel.Opening) (tunnel.Engine, tunnel.Opened, error) {
	return nil, tunnel.Opened{}, errSystem
}
