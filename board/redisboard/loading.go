package redisboard

import (
	"context"
	"time"
)

const (
	// loadingPause is how often a server that is loading its data is asked.
	loadingPause = 250 * time.Millisecond
	// loadingTold is how often it is said that one is waited for.
	loadingTold = 15 * time.Second
)

// loaded waits until the server has read its data, which takes minutes where there is much.
// Somebody is there, and it is no mistake of whoever named it: to give up would be to be
// started again, and wait as well.
func (b *Board) loaded(ctx context.Context) error {
	for told := (time.Time{}); ; {
		info, err := b.client.Do(ctx, b.client.B().Info().Section("persistence").Build()).ToString()
		if err != nil {
			return b.translate(err)
		}
		about := parseInfo(info)
		if about["loading"] != "1" {
			return nil
		}
		if time.Since(told) >= loadingTold {
			told = time.Now()
			b.log.Warn("redis is loading its data: waiting until it has", "percent", about["loading_loaded_perc"], "left_s", about["loading_eta_seconds"])
		}
		select {
		case <-time.After(loadingPause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
