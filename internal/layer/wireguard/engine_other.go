//go:build !linux

package wireguard

import (
	"errors"

	"tare/internal/layer/tunnel"
)

func lacks() error { return errors.ErrUnsupported }

func open(tunnel.Opening) (tunnel.Engine, tunnel.Opened, error) { return nil, tunnel.Opened{}, lacks() }
