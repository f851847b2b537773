package etcdboard

import (
	"context"
	"time"
)

// OpenSkewed opens a board on a node whose clock is off by so much.
func OpenSkewed(ctx context.Context, url string, cfg Config, skew time.Duration) (*Board, error) {
	cfg.skew = skew
	return Open(ctx, url, cfg)
}

// OpenHasty opens a board on a node that takes another for dead after so long.
func OpenHasty(ctx context.Context, url string, silence time.Duration) (*Board, error) {
	return Open(ctx, url, Config{silence: silence})
}

// BoardsTime is what clocks together say, for tests of the rule alone.
var BoardsTime = boardsTime
