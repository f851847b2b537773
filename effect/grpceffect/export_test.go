package grpceffect

import (
	"time"

	"github.com/ramet-run/ramet/effect"
)

// Age makes what a server told older.
func Age(e effect.Provider, by time.Duration) {
	p := e.(*Provider)
	p.toldAt = p.toldAt.Add(-by)
}
