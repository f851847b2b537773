package node

import (
	"cmp"
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file keeps the records by which others see a node and its runner.

// recordEvery is how often the node says that it is alive.
const recordEvery = domain.NodeSilence / 3

// maxLocked is how many contexts a runner's record names whose keys are not to be
// had: it is written every few seconds.
const maxLocked = 100

// keepRecord keeps the runner's record, so that others see what is served,
// and removes old folders: both are this node's own business.
func (n *Node) keepRecord(ctx context.Context) {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	cleared := time.Time{}
	for {
		now, locks := time.Now(), n.cfg.Encryption.Changed()
		_ = n.cfg.Disk.Intake() // so that its log says when there is room again, though nobody asks
		if err := n.writeRecord(ctx, n.board.Now()); err != nil && ctx.Err() == nil {
			n.cfg.Logger.Warn("runner record not written", "err", err)
		}
		if now.Sub(cleared) > time.Hour {
			cleared = now
			if _, err := n.Work.ClearFolders(n.cfg.KeepFailedFiles, now); err != nil {
				n.cfg.Logger.Warn("old job folders not removed", "err", err)
			}
		}
		select {
		case <-tick.C:
		case <-n.Duties.Changed():
		case <-n.Work.UnkeptChanged():
		case <-n.repaired:
		case <-locks:
		case <-ctx.Done():
			n.sayGoodbye(context.WithoutCancel(ctx))
			return
		}
	}
}

// writeRecord says that the node is there at an instant of the board: others hold that against
// the board's clock, whatever theirs says.
func (n *Node) writeRecord(ctx context.Context, now time.Time) error {
	about := domain.Node{Version: n.cfg.Version, Format: n.cfg.Format, Host: n.cfg.Host, RunnerID: n.self.RunnerID, Durability: string(n.board.Durability()),
		Labels: n.cfg.Labels, Circles: n.cfg.Circles.Served, Effects: n.ServedEffects(), Off: n.Duties.Off(), Unkept: n.Work.Unkept(), StartedMs: n.began.UnixMilli(),
		ClockOffMs: time.Since(now).Truncate(time.Second).Milliseconds()}
	fields := append(layout.EncodeNode(about), n.postFields()...)
	if err := n.self.stay(ctx, n.board, now, fields...); err != nil || n.cfg.Passing {
		return err
	}
	if err := n.self.ownsRunner(ctx, n.board, now); err != nil {
		return err
	}
	key := layout.Runner(n.self.RunnerID)
	recs, err := n.board.Get(ctx, 0, key)
	if err != nil {
		return err
	}
	// What a person wrote there (a bus key, an address) stays.
	r, err := layout.DecodeRunner(key, recs[0])
	if err != nil {
		return err
	}
	was, is := r.Node, n.Runner(now)
	r.ID, r.Node, r.Local, r.Serves, r.Labels = is.ID, is.Node, is.Local, is.Serves, is.Labels
	r.Off, r.Locked, r.SeenMs = is.Off, is.Locked, is.SeenMs
	r.Topic = cmp.Or(r.Topic, r.ID.DefaultTopic())
	if n.Post != nil {
		r.Pubkey = cmp.Or(r.Pubkey, n.Post.Node())
		r.Address = cmp.Or(r.Address, string(domain.NodeAddress(n.Post.Node())))
	}
	var b board.Batch
	b.Unset(key, layout.RunnerOff, layout.RunnerLabels, layout.RunnerLocked) // and what of them there is, anew
	b.Equal(key, layout.RunnerNode, was).Set(key, layout.EncodeRunner(r.Touched(now))...)
	return n.board.Commit(ctx, b)
}

// sayGoodbye lets others have the name at once, and tells that the runner has stopped:
// nobody need look for it.
func (n *Node) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := n.self.sign(ctx, n.board, n.self.ID, 0); err != nil {
		n.cfg.Logger.Debug("name not given back; it is free after a while", "err", err)
		return
	}
	if n.cfg.Passing {
		return
	}
	key := layout.Runner(n.self.RunnerID)
	var b board.Batch
	b.Equal(key, layout.RunnerNode, n.self.Name).Unset(key, layout.RunnerSeen)
	if err := n.board.Commit(ctx, b); err != nil {
		n.cfg.Logger.Debug("runner not marked as stopped; others see that after a while", "err", err)
	}
}
