package node

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listener"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/telemetry"
)

// This file looks at what waits and runs, for metrics. A look is made when somebody
// scrapes, is good for a while, and is bounded in what it reads: of queues their ends and
// lengths, never what is in them.

const (
	// standingFor is for how long a look is good, however many ask.
	standingFor = 5 * time.Second
	// standingTime bounds a look at the board, sagasTime one at sagas, listenersTime one at listeners,
	// and sizesTime one at sizes: each asks something else, that may hang by itself.
	standingTime  = time.Second
	sagasTime     = time.Second
	listenersTime = time.Second
	sizesTime     = time.Second
	// sizesFor is for how long sizes are good: to count what an archive has takes longer.
	sizesFor = time.Minute
	// standingSpaces bounds the contexts whose files are counted.
	standingSpaces = 500
	// standingQueues bounds the queues of contexts that are looked at, each of which costs
	// three small reads; standingTypes the script types of workers, standingSagas the sagas,
	// and standingListeners the listeners, each of which costs at most three requests of the broker.
	standingQueues = 500
	standingTypes  = 100
	standingSagas  = 200

	standingListeners = 200
)

// standings keep the last look.
type standings struct {
	mu        sync.Mutex
	last      telemetry.Standing
	sized     time.Time // when sizes were last looked at
	listeners *listener.Watch
}

// Standing is the last look, or a new one where that is old. It takes a second at the most, and
// one more for each of sagas, listeners and sizes where what they ask hangs.
func (n *Node) Standing() telemetry.Standing {
	n.standings.mu.Lock()
	defer n.standings.mu.Unlock()
	began := time.Now()
	if began.Sub(n.standings.last.At) < standingFor {
		return n.standings.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), standingTime)
	defer cancel()
	l := survey{n: n, ctx: ctx, now: n.board.Now(), left: standingQueues, own: map[board.Space]*telemetry.ContextStanding{}}
	l.is.At, l.is.BoardBytes = began, -1
	l.is.Kept = n.standings.last.Kept
	for _, t := range n.cfg.MetricsContexts {
		l.own[layout.SpaceOf(t)] = &telemetry.ContextStanding{Context: t, Cap: -1}
	}
	l.slots()
	l.jobs()
	l.others()
	l.contexts()
	l.sagas()
	l.listeners()
	if n.cfg.BoardSize != nil {
		l.is.BoardBytes = n.cfg.BoardSize()
	}
	if began.Sub(n.standings.sized) >= sizesFor {
		ctx, cancel := context.WithTimeout(context.Background(), sizesTime)
		defer cancel()
		l.ctx = ctx
		known := false
		if l.is.Kept, known = l.sizes(); known { // else the next look tries again
			n.standings.sized = began
		}
	}
	l.is.Took = time.Since(began)
	n.standings.last = l.is
	return l.is
}

// survey is one look.
type survey struct {
	n    *Node
	ctx  context.Context
	now  time.Time
	left int // queues that may still be looked at
	own  map[board.Space]*telemetry.ContextStanding
	is   telemetry.Standing
}

// sizes are what the archive and the store of artifacts have. known is false where one that is
// there could not be asked.
func (l *survey) sizes() (k telemetry.Kept, known bool) {
	k, known = telemetry.Kept{ArchiveBytes: -1, ArtifactBytes: -1}, true
	if l.n.cfg.Archive != nil {
		if size, err := l.n.cfg.Archive.Size(l.ctx); err == nil {
			k.ArchiveBytes, k.ArchiveRecords = size.Bytes, size.Records
		} else {
			known = false
		}
	}
	if l.n.cfg.Artifacts == nil {
		return k, known
	}
	spaces, err := l.n.board.Spaces(l.ctx)
	if err != nil || len(spaces) > standingSpaces {
		return k, known && err == nil // a sum of some would be taken for all
	}
	sum := int64(0)
	for _, space := range spaces {
		recs, err := l.n.board.Get(l.ctx, space, layout.ArtifactTotal)
		if err != nil {
			return k, false
		}
		bytes, _ := strconv.ParseInt(recs[0].Get(layout.ArtifactBytes), 10, 64)
		sum += max(0, bytes)
	}
	k.ArtifactBytes = sum
	return k, known
}

// slots are those of this node's runner, from memory.
func (l *survey) slots() {
	for _, s := range l.n.offered() {
		l.is.Slots = append(l.is.Slots, telemetry.SlotStanding{Type: s.ScriptType, Slots: s.Slots, Taken: s.Taken, Served: s.Served})
		for _, o := range l.own {
			o.Running += s.HeldBy(o.Context)
		}
	}
}

// jobs are the queues of script types: the plain one with its priorities, those of this
// node's runner, and those of jobs that ask for labels.
func (l *survey) jobs() {
	types := slices.Concat(l.n.types(), l.n.Work.WorkerTypes(standingTypes))
	slices.Sort(types)
	groups := map[domain.ScriptType][]string{}
	labelled, err := l.n.board.Members(l.ctx, 0, layout.Affinities, "", layout.MaxAffinities)
	l.is.Partial = l.is.Partial || err != nil
	for _, group := range labelled {
		if q, ok := queue.ParseLabelled(group); ok {
			groups[q.Type] = append(groups[q.Type], group)
		}
	}
	for _, t := range slices.Compact(types) {
		s := telemetry.QueueStanding{Type: t}
		for _, group := range append(groups[t], queue.OfType(t), queue.OfRunner(t, l.n.self.RunnerID)) {
			contexts, waiting, oldest := l.group(group, true)
			s.Contexts += contexts
			s.Waiting += waiting
			s.Oldest = max(s.Oldest, oldest)
		}
		l.is.Queues = append(l.is.Queues, s)
	}
}

// others are queues that have no jobs.
func (l *survey) others() {
	names := []string{queue.Keeper, queue.Checks, queue.PostJobs, queue.MsgOut, queue.MsgIn}
	for _, c := range l.n.cfg.Circles.Served {
		names = append(names, queue.Circle(c.Name))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		_, waiting, _ := l.group(name, false)
		l.is.Others = append(l.is.Others, telemetry.ItemStanding{Queue: name, Items: waiting})
	}
}

// group counts what waits in the lists of a group, and of jobs how long the next one has
// waited.
func (l *survey) group(group string, jobs bool) (contexts, waiting int, oldest time.Duration) {
	spaces, err := l.n.board.Ready(l.ctx, group)
	if err != nil {
		l.is.Partial = true
		return 0, 0, 0
	}
	contexts, lists := len(spaces), queue.Lists(group)
	for _, space := range spaces {
		if l.left--; l.left < 0 {
			l.is.Partial = true
			break
		}
		lengths, err := l.n.board.Len(l.ctx, space, lists...)
		if err != nil {
			l.is.Partial = true
			break
		}
		n, age := 0, time.Duration(0)
		for i, length := range lengths {
			if n += length; length > 0 && jobs {
				age = max(age, l.age(space, lists[i]))
			}
		}
		waiting += n
		oldest = max(oldest, age)
		if own := l.own[space]; own != nil && jobs {
			own.Waiting += n
			own.Oldest = max(own.Oldest, age)
		}
	}
	return contexts, waiting, oldest
}

// age is how long the next job of a queue has waited.
func (l *survey) age(space board.Space, list string) time.Duration {
	next, err := l.n.board.List(l.ctx, space, list, -1, 1)
	if err != nil || len(next) == 0 || board.Named(list, next[0]) == "" {
		return 0
	}
	recs, err := l.n.board.GetFields(l.ctx, space, waitedSince.Fields, board.Named(list, next[0]))
	if err != nil || recs[0] == nil {
		return 0
	}
	queued := waitedSince.Queued(l.now.UnixMilli(), func(name string) string { return recs[0].Get(name) })
	return max(l.now.Sub(time.UnixMilli(queued)), 0)
}

// waitedSince says since when a job waits.
var waitedSince = board.Aging{Fields: []string{layout.JobQueuedMs, layout.JobCreatedAt}}

// contexts are those with series of their own.
func (l *survey) contexts() {
	for _, t := range l.n.cfg.MetricsContexts {
		own := l.own[layout.SpaceOf(t)]
		recs, err := l.n.board.GetFields(l.ctx, layout.SpaceOf(t), []string{queue.MaxField}, board.LimitsKey)
		if err != nil {
			l.is.Partial = true
		} else if most, err := strconv.Atoi(recs[0].Get(queue.MaxField)); err == nil && most >= 0 {
			own.Cap = most
		}
		l.is.Contexts = append(l.is.Contexts, *own)
	}
}

// streamNames are those that are looked at.
var streamNames = []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents, domain.WorkflowTroubles}

// sagas are how far sagas have come, what waits to be sent, and what the streams hold.
func (l *survey) sagas() {
	if log := l.n.cfg.Sagas.Log; log != nil {
		for _, name := range streamNames {
			if s, err := log.Stats(l.ctx, name); err == nil { // else it is not there yet, or away
				l.is.Streams = append(l.is.Streams, telemetry.StreamStanding{Stream: string(name), Messages: s.Messages, Bytes: s.Bytes})
			}
		}
	}
	if l.n.sagas == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sagasTime)
	defer cancel()
	found := l.n.sagas.Standings(ctx, standingSagas)
	l.is.Partial, l.is.SagasUnknown = l.is.Partial || !found.Whole, found.Unknown
	l.is.MovesSagas = true
	for _, s := range found.List {
		l.is.Sagas = append(l.is.Sagas, telemetry.SagaStanding{Context: s.Tenant, Saga: s.Saga, Behind: s.Behind, Oldest: l.since(s.Oldest)})
	}
	boxes := l.n.sagas.Outboxes()
	l.is.Partial = l.is.Partial || len(boxes) > standingSagas
	for _, b := range boxes[:min(len(boxes), standingSagas)] {
		l.is.Outboxes = append(l.is.Outboxes, telemetry.OutboxStanding{Context: b.Tenant, Saga: b.Saga, Items: b.Items, Oldest: l.since(b.Oldest)})
	}
}

// listeners are how far all of them are behind. Nobody leads a listener, and one that no node
// serves is behind as well, so every node with streams looks at all.
func (l *survey) listeners() {
	if l.n.Listeners == nil {
		return
	}
	watch := l.n.standings.listeners
	if watch == nil {
		watch = listener.NewWatch(l.n.Listeners, standingListeners)
		l.n.standings.listeners = watch
	}
	ctx, cancel := context.WithTimeout(context.Background(), listenersTime)
	defer cancel()
	found := watch.Look(ctx)
	l.is.Partial = l.is.Partial || !found.Whole
	l.is.ListenersMissed, l.is.ListenersUnknown = found.Missed > 0, found.Unknown
	l.is.Listeners = make([]telemetry.ListenerStanding, len(found.List)) // none is a number, too
	for i, s := range found.List {
		l.is.Listeners[i] = telemetry.ListenerStanding{Context: s.Tenant, Listener: s.Listener, Behind: s.Behind, Oldest: l.since(s.Oldest)}
	}
}

// since is how long ago something was; zero where it was not.
func (l *survey) since(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(l.now.Sub(at), 0)
}

// types are the script types that this node knows.
func (n *Node) types() []domain.ScriptType {
	all := map[domain.ScriptType]bool{}
	for _, t := range domain.ScriptTypes {
		all[t] = true
	}
	for _, rt := range n.cfg.Runtimes {
		all[rt.Type()] = true
	}
	return slices.Collect(maps.Keys(all))
}
