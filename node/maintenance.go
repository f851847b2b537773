package node

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// This file lists what a node is ready to do for the whole board.

// maintenance is what this node is ready to do for the whole board.
func (n *Node) maintenance() []clockwork.Maintenance {
	log := n.cfg.Logger
	list := []clockwork.Maintenance{
		clockwork.AlarmsWhere(n.board, log, clockwork.Handlers(n.handlePostAlarm, n.handleSagaAlarm, n.Work.HandleAlarm, n.Flows.HandleAlarm,
			n.Schedules.HandleAlarm, ban.New(n.board).HandleAlarm, n.Routines.HandleAlarm, n.Bulks.HandleAlarm), n.Metrics.AlarmHandled, n.cfg.Disk.Intake),
		clockwork.Leases(n.board, log, n.recoverLease),
		clockwork.Audits(n.board, n.Work, n.auditors(), log, func(t domain.TenantID, a domain.Audit) {
			n.Metrics.Audited(t, len(a.Repaired), len(a.Stuck))
		}),
		clockwork.Prunes(n.board, n.Work, n.cfg.Retention),
	}
	if n.cfg.Artifacts != nil {
		list = append(list, clockwork.Visits("artifacts", artifactsEvery, n.board, func(ctx context.Context, t domain.TenantID) error {
			// Files have the times of machines and stores: by the earlier none goes too early.
			now := n.board.Now()
			if own := time.Now(); own.Before(now) {
				now = own
			}
			done, err := n.Work.SweepArtifacts(ctx, t, n.cfg.ArtifactRetention, now)
			if done != (work.Swept{}) {
				log.Info("artifacts removed that nobody names any more", "context", uint32(t), "jobs", done.Sets, "files", done.Blobs,
					"bytes", done.Bytes)
			}
			return err
		}))
	}
	if r := n.cfg.Post.Registry; r != nil {
		list = append(list, clockwork.Visits("audit logs", auditEvery, n.board, r.TrimAuditLog),
			clockwork.Maintenance{Name: "audit log of the node", Every: auditEvery, Round: func(ctx context.Context) error { return r.TrimAuditLog(ctx, 0) }})
	}
	if n.Sagas != nil {
		list = append(list, clockwork.Maintenance{Name: "event streams", Every: trimEvery, Round: n.trimStreams})
	}
	if n.cfg.Foreign {
		list = append(list, clockwork.Visits("foreign flows", foreignEvery, n.board, func(ctx context.Context, t domain.TenantID) error {
			_, err := n.Flows.FindForeign(ctx, t)
			return err
		}))
	}
	if n.cfg.Taken != nil {
		list = append(list, clockwork.Maintenance{Name: "foreign runners", Round: func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			taken, err := n.cfg.Taken(ctx)
			if err != nil {
				return err
			}
			return n.Work.FollowTaken(ctx, taken)
		}})
	}
	if n.cfg.Encryption != nil {
		list = append(list, clockwork.Maintenance{
			Name: "encryption", Every: sweepEvery, Wanted: n.cfg.Encryption.Unswept,
			Round: func(ctx context.Context) error { return n.cfg.Encryption.Sweep(ctx, n.board.Now()) },
		})
	}
	if n.cfg.Archive != nil {
		list = append(list, clockwork.Archives(n.board, n.Work, clockwork.ArchiverConfig{
			Archive: n.cfg.Archive, Flows: n.Flows, Keep: n.cfg.ArchiveRetention, Bytes: n.cfg.ArchiveBytes, Logger: log, Observer: n.Metrics,
			Choice: n.cfg.Archives,
		}))
	}
	return list
}

// auditEvery is how often lines of audit logs are looked for that are too old; where there
// are too many, who writes the next finds out.
const auditEvery = time.Hour

// artifactsEvery is how often the store of artifacts is looked through for what nobody names.
const artifactsEvery = time.Hour

// foreignEvery is how often flows of foreign programs are looked for that have
// queued none of their jobs; those that have are found at once.
const foreignEvery = time.Minute

// sweepEvery is how often contexts are looked for whose encryption has changed.
const sweepEvery = 5 * time.Second
