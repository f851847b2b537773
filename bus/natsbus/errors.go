package natsbus

import "github.com/ramet-run/ramet/domain"

var (
	errClosed = domain.Unavailablef("bus is closed")
	errAway   = domain.Unavailablef("NATS server cannot be reached")
)
