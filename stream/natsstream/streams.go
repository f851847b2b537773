package natsstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

const (
	// window is how long the ID of a message is remembered.
	window = 2 * time.Minute
	// overhead is what a message has besides its data and header: NATS's own
	// headers, with an ID and what a batch needs.
	overhead = 1 << 10
	maxStore = stream.MaxData + stream.MaxHeader + overhead
)

// subjects are what a stream stores.
func subjects(name domain.StreamName) []string {
	if name != domain.WorkflowTroubles {
		return name.Subjects()
	}
	var list []string
	for _, of := range domain.StreamNames {
		if of != domain.WorkflowTroubles {
			list = append(list, advisoryMaxDeliver+string(of)+".*", advisoryTerminated+string(of)+".*")
		}
	}
	return list
}

// wanted is how a missing stream is made.
func (l *Log) wanted(name domain.StreamName) jetstream.StreamConfig {
	replicas := l.cfg.Replicas
	if l.cfg.embedded() {
		replicas = 1
	}
	return jetstream.StreamConfig{
		Name:               string(name),
		Description:        "made by Ramet",
		Subjects:           subjects(name),
		Storage:            jetstream.FileStorage,
		Retention:          jetstream.LimitsPolicy,
		Discard:            jetstream.DiscardOld,
		Replicas:           replicas,
		Duplicates:         window,
		AllowDirect:        true,
		AllowAtomicPublish: name != domain.WorkflowTroubles,
	}
}

// settle makes the streams that are missing, and looks at those that are there.
func (l *Log) settle(ctx context.Context) error {
	replicas := 3
	for _, name := range domain.StreamNames {
		var found *jetstream.StreamInfo
		var said error // by the server, the last time
		err := l.keep(ctx, "stream "+string(name), func(ctx context.Context) error {
			found, said = l.find(ctx, name)
			return said
		})
		if err != nil && ctx.Err() == nil && l.noRoom(said) {
			return domain.Invalidf("make stream %s: the NATS server has no room for %d replicas (%s): use a cluster of three; or say replicas=1, "+
				"and sync=always if the server has \"sync_interval: always\"", name, l.cfg.Replicas, apiText(said))
		}
		if err != nil {
			return err
		}
		warnings, err := check(name, found.Config, l.cfg)
		if err != nil {
			return err
		}
		for _, w := range warnings {
			l.cfg.Logger.Warn("NATS stream may drop messages before they are handled", "stream", name, "setting", w)
		}
		replicas = min(replicas, found.Config.Replicas)
		l.replicated = l.replicated || found.Config.Replicas > 1
		o := &origin{created: found.Created}
		o.last.Store(found.State.LastSeq)
		l.origins[name] = o
		if name != domain.WorkflowTroubles {
			l.startPublisher(name, found.Config)
		}
	}
	return l.claim(replicas)
}

// find returns what a stream is, and makes it if it is missing and may be.
func (l *Log) find(ctx context.Context, name domain.StreamName) (*jetstream.StreamInfo, error) {
	s, err := l.js.Stream(ctx, string(name))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		switch {
		case slices.Contains(l.cfg.Known, name):
			return nil, domain.Conflictf("stream %s is not there, and sagas have read it: give the node the event streams that it had; or, if they are lost, "+
				"start it with --accept-loss: it makes new ones, and sagas go on with these", name)
		case l.cfg.NoCreate:
			return nil, domain.NotFoundf("stream %s is not there, and this node may not make it: its subjects are %s", name,
				strings.Join(subjects(name), ", "))
		}
		s, err = l.js.CreateStream(ctx, l.wanted(name))
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another node was first
			s, err = l.js.Stream(ctx, string(name))
		}
	}
	if err != nil {
		return nil, err
	}
	return s.CachedInfo(), nil
}

// noRoom says whether an error is of a server that has not enough others for the
// replicas.
func (l *Log) noRoom(err error) bool {
	code := apiCode(err)
	return code == codeNoReplicas || code == codeNoPeers && l.cfg.Replicas > 1
}

// claim says what the streams survive.
//
// Errors: [domain.ErrInvalid] if that is less than was asked for.
func (l *Log) claim(replicas int) error {
	switch {
	case l.cfg.embedded() && !l.cfg.MayLose:
		l.durable = board.DurableDisk
	case replicas >= 3:
		l.durable = board.DurableQuorum
	case l.cfg.SyncDeclared:
		l.durable = board.DurableDisk
	case l.cfg.MayLose:
		l.durable = board.DurableProcess
	default:
		return errUnsynced(replicas)
	}
	return nil
}

// check finds what is wrong with a stream that is there, so that it would lose
// messages, or refuse them.
//
// The stream of events is its owner's: what may drop old ones there is a
// warning.
func check(name domain.StreamName, c jetstream.StreamConfig, cfg Config) (warnings []string, err error) {
	bad := func(field string, found, want any) error {
		return domain.Invalidf("stream %s is there and cannot be used: %s: found %v, want %v", name, field, found, want)
	}
	for _, s := range subjects(name) {
		if !slices.ContainsFunc(c.Subjects, func(has string) bool { return covers(has, s) }) {
			return nil, bad("subjects", strings.Join(c.Subjects, ", "), s+" among them")
		}
	}
	switch {
	case c.Mirror != nil:
		return nil, bad("mirror", c.Mirror.Name, "none")
	case c.Sealed:
		return nil, bad("sealed", c.Sealed, false)
	case c.Storage != jetstream.FileStorage:
		return nil, bad("storage", c.Storage, jetstream.FileStorage)
	case c.Retention != jetstream.LimitsPolicy:
		return nil, bad("retention", c.Retention, jetstream.LimitsPolicy)
	case c.NoAck && name != domain.WorkflowTroubles:
		return nil, bad("no_ack", c.NoAck, false)
	case c.PersistMode != jetstream.DefaultPersistMode:
		return nil, bad("persist_mode", c.PersistMode, jetstream.DefaultPersistMode)
	case !cfg.embedded() && c.Replicas < cfg.Replicas:
		return nil, bad("num_replicas", c.Replicas, cfg.Replicas)
	case c.MaxMsgSize >= 0 && c.MaxMsgSize < maxStore:
		return nil, bad("max_msg_size", c.MaxMsgSize, fmt.Sprintf("-1, or at least %d", maxStore))
	}
	for _, d := range drops(c) {
		if name != domain.AggregateEvents {
			return nil, bad(d.field, d.found, d.want)
		}
		warnings = append(warnings, fmt.Sprintf("%s is %v", d.field, d.found))
	}
	return warnings, nil
}

// drop is a setting that lets messages go which nobody has handled.
type drop struct {
	field       string
	found, want any
}

func drops(c jetstream.StreamConfig) (list []drop) {
	// With discard "new" a full stream takes nothing, and nothing is lost.
	old := c.Discard == jetstream.DiscardOld
	for _, d := range []struct {
		drop
		drops bool
	}{
		{drop{"max_age", c.MaxAge, "0"}, c.MaxAge > 0},
		{drop{"max_msgs", c.MaxMsgs, "-1, or discard new"}, c.MaxMsgs > 0 && old},
		{drop{"max_bytes", c.MaxBytes, "-1, or discard new"}, c.MaxBytes > 0 && old},
		{drop{"max_msgs_per_subject", c.MaxMsgsPerSubject, "-1"}, c.MaxMsgsPerSubject > 0 && (old || !c.DiscardNewPerSubject)},
		{drop{"duplicate_window", c.Duplicates, window}, c.Duplicates < window},
	} {
		if d.drops {
			list = append(list, d.drop)
		}
	}
	return list
}

// covers says whether every subject that matches inner matches outer too.
func covers(outer, inner string) bool {
	for {
		o, outerRest, outerMore := strings.Cut(outer, ".")
		i, innerRest, innerMore := strings.Cut(inner, ".")
		switch {
		case o == ">":
			return true
		case i == ">" || o != "*" && o != i:
			return false
		case outerMore != innerMore:
			return false
		case !outerMore:
			return true
		}
		outer, inner = outerRest, innerRest
	}
}

// distinct leaves out the filters that another one covers, which a server would
// refuse.
func distinct(filters []string) (list []string) {
	for i, f := range filters {
		covered := false
		for j, other := range filters {
			// Of two that are the same, the first stays.
			if i != j && covers(other, f) && (other != f || j < i) {
				covered = true
			}
		}
		if !covered {
			list = append(list, f)
		}
	}
	return list
}
