package service

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

const (
	// logChunk is how many lines of one job are in memory, and logChunkBytes how large they
	// are together, unless one alone is larger. As many jobs are read at a time as said
	// something at the same time.
	logChunk      = 64
	logChunkBytes = 32 << 10
	// followEvery is how often a followed log is looked at while something is said, and
	// followPoll where nobody tells of anything.
	followEvery = 200 * time.Millisecond
	followPoll  = 5 * time.Second
	// archivedLook bounds the records that are looked at for the jobs of an archived flow.
	archivedLook = 20_000
)

// flowLog reads the logs of a flow's jobs as one, in the order of time: each job's is in
// order, so that it is enough to have the next few lines of those that had begun by then.
type flowLog struct {
	c    Caller
	p    api.FlowLogParams
	flow domain.FlowView

	known  map[domain.JobID]*partLog
	looked domain.JobID // up to this number the caller's jobs were looked through
	begun  []*partLog   // not read yet, in the order in which they began
	open   partLogs     // with lines
	idle   []*partLog   // with nothing to read for now
	since  int64
}

// partLog is what one job of a flow says.
type partLog struct {
	jobLines
	id         domain.JobID
	step, part string
	began, end int64 // Unix ms; 0: not yet
	next       int   // the number of the first of lines
	lines      []domain.Log
}

// partLogs is a heap of logs by their next lines.
type partLogs []*partLog

func (h partLogs) Len() int { return len(h) }
func (h partLogs) Less(a, b int) bool {
	return cmp.Or(cmp.Compare(h[a].lines[0].AtMs, h[b].lines[0].AtMs), cmp.Compare(h[a].id, h[b].id)) < 0
}
func (h partLogs) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *partLogs) Push(x any)   { *h = append(*h, x.(*partLog)) }
func (h *partLogs) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// FlowLogs reads what the jobs of a flow said, in the order of time: from the archive, too.
func (c Caller) FlowLogs(ctx context.Context, p api.FlowLogParams) (api.FlowLogPage, error) {
	l, err := c.flowLog(ctx, p)
	if err != nil {
		return api.FlowLogPage{}, err
	}
	from, skip, err := parseLogCursor(p.Cursor)
	if err != nil {
		return api.FlowLogPage{}, err
	}
	l.since = max(p.SinceMs, from)
	if err := l.discover(ctx); err != nil {
		return api.FlowLogPage{}, err
	}
	if p.Tail > 0 && p.Cursor == "" {
		if err := l.tail(ctx, p.Tail); err != nil {
			return api.FlowLogPage{}, err
		}
	}
	page := api.FlowLogPage{Logs: []api.FlowLog{}}
	limit := cmp.Or(p.Limit, max(logsDefault, p.Tail))
	at, same := from, 0
	for {
		line, err := l.line(ctx)
		if err != nil || line == nil {
			return page, err
		}
		if line.AtMs == from && same < skip {
			same++ // it was on the page before
			continue
		}
		if len(page.Logs) == limit {
			page.Next = fmt.Sprintf("%d.%d", at, same)
			return page, nil
		}
		if page.Logs = append(page.Logs, *line); line.AtMs == at {
			same++
		} else {
			at, same = line.AtMs, 1
		}
	}
}

// parseLogCursor reads the instant of the last line that was had, and how many of that
// instant those were.
func parseLogCursor(cursor string) (ms int64, n int, err error) {
	if cursor == "" {
		return 0, 0, nil
	}
	if _, err := fmt.Sscanf(cursor, "%d.%d", &ms, &n); err != nil || ms < 0 || n < 0 || fmt.Sprintf("%d.%d", ms, n) != cursor {
		return 0, 0, domain.Invalidf("cursor %q: want the next of a page", cursor)
	}
	return ms, n, nil
}

// FollowFlowLogs is the stream of flow.logs. params are *[api.FlowLogParams].
func (c Caller) FollowFlowLogs(ctx context.Context, params any, emit func(api.Event) error) error {
	p := *params.(*api.FlowLogParams)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := c.flowLog(ctx, p)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	var lost error
	go func() {
		defer close(ended)
		if lost = c.api.parts.Flows.Await(ctx, p.Context, p.Flow); errors.Is(lost, domain.ErrNotFound) {
			lost = nil // the archive has it
		}
	}()
	defer func() { cancel(); <-ended }()
	said, err := c.api.parts.Jobs.LogsChange(ctx, p.Context, l.flow.CallerID)
	if err != nil {
		return err
	}
	l.since = p.SinceMs
	poll := time.NewTicker(followPoll)
	defer poll.Stop()
	for first := true; ; first = false {
		last := false
		select {
		case <-ended:
			last = true // all that was said is there
			if lost != nil {
				return lost
			}
		default:
		}
		if err := l.round(ctx, first, emit); err != nil {
			return err
		}
		if last {
			v, err := c.wholeFlow(ctx, p.FlowParams)
			if err != nil {
				return err
			}
			v, _ = pageOf(v, 0)
			return emit(api.Event{Name: api.EventEnd, Data: v})
		}
		if err := pauseUntil(ctx, said, ended, poll.C); err != nil {
			return err
		}
	}
}

// pauseUntil waits until there may be more, and not for less than a while: others read, too.
func pauseUntil[E any](ctx context.Context, said <-chan E, ended <-chan struct{}, poll <-chan time.Time) error {
	select {
	case <-said:
	case <-ended:
		return ctx.Err()
	case <-poll:
	case <-ctx.Done():
	}
	pause := time.NewTimer(followEvery)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
			return ctx.Err()
		case <-ended:
			return ctx.Err()
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-said:
			if !open {
				said = nil // the next round finds out why
			}
		}
	}
}

// round emits what has been said since the last one.
func (l *flowLog) round(ctx context.Context, first bool, emit func(api.Event) error) error {
	if err := l.c.begin(ctx, l.p.Context); err != nil {
		return err
	}
	defer l.c.end()
	if !first {
		v, err := l.c.wholeFlow(ctx, l.p.FlowParams)
		if err != nil {
			return err
		}
		l.flow = v
	}
	if err := l.discover(ctx); err != nil {
		return err
	}
	if first && l.p.Tail > 0 {
		if err := l.tail(ctx, l.p.Tail); err != nil {
			return err
		}
	}
	for {
		line, err := l.line(ctx)
		if err != nil || line == nil {
			return err
		}
		if err := emit(api.Event{Name: api.EventLog, Data: *line}); err != nil {
			return err
		}
	}
}

func (c Caller) flowLog(ctx context.Context, p api.FlowLogParams) (*flowLog, error) {
	v, err := c.wholeFlow(ctx, p.FlowParams)
	if err != nil {
		return nil, err
	}
	if err := checkWanted(p.LogWanted); err != nil {
		return nil, err
	}
	if p.Limit < 0 || p.Limit > logsMost {
		return nil, domain.Invalidf("limit %d: want 1 to %d", p.Limit, logsMost)
	}
	if p.Step != "" {
		var names []string
		for i := range v.Steps {
			names = append(names, v.Steps[i].Name)
		}
		if !slices.Contains(names, p.Step) {
			return nil, domain.Invalidf("step %q: flow %d has no such step%s", p.Step, v.ID, didYouMean(p.Step, names))
		}
	}
	return &flowLog{c: c, p: p, flow: v, known: map[domain.JobID]*partLog{}}, nil
}

// discover looks for jobs that are not known yet, and how those stand that have not ended.
func (l *flowLog) discover(ctx context.Context) error {
	var keys []domain.JobKey
	for id, j := range l.known {
		if j.end == 0 {
			keys = append(keys, domain.JobKey{Caller: l.flow.CallerID, ID: id})
		}
	}
	many := false
	for i := range l.flow.Steps {
		s := &l.flow.Steps[i]
		many = many || !s.Kind.One() && s.Kind != domain.StepApproval && s.Status != domain.StepDormant
		if key, err := domain.ParseJobKey(s.Job); err == nil && l.known[key.ID] == nil {
			keys = append(keys, key)
		}
	}
	for _, id := range l.flow.Jobs {
		if l.known[id] == nil {
			keys = append(keys, domain.JobKey{Caller: l.flow.CallerID, ID: id})
		}
	}
	slices.SortFunc(keys, func(a, b domain.JobKey) int { return cmp.Compare(a.ID, b.ID) })
	keys = slices.Compact(keys)
	jobs, err := l.c.api.parts.Jobs.Heads(ctx, l.p.Context, keys)
	if err != nil {
		return err
	}
	for i, j := range jobs {
		switch {
		case j != nil:
			l.note(j)
		case l.known[keys[i].ID] == nil:
			r, err := l.c.api.parts.Archive.Get(ctx, l.p.Context, keys[i].String(), 0)
			if err == nil {
				l.noteArchived(&r)
			} else if !errors.Is(err, domain.ErrNotFound) {
				return err
			}
		default:
			l.known[keys[i].ID].end = 1 // it was removed meanwhile
		}
	}
	if many {
		above := l.looked
		if l.flow.Final() {
			above = 0 // a number may be taken before its job is there
		}
		made, top, err := l.c.api.parts.Jobs.MadeFor(ctx, l.p.Context, &l.flow.Flow, above)
		if err != nil {
			return err
		}
		l.looked = top
		for _, j := range made {
			l.note(j)
		}
		if l.flow.Final() && len(made) == 0 {
			if err := l.searchArchive(ctx); err != nil {
				return err
			}
		}
	}
	l.arrange()
	return nil
}

// note notes how a job stands.
func (l *flowLog) note(j *domain.Job) {
	k := l.known[j.ID]
	if k == nil {
		step := cmp.Or(j.Step, l.stepOf(j.Key().String()))
		if l.p.Step != "" && step != l.p.Step || j.FlowID != l.flow.ID {
			k = &partLog{id: j.ID, end: 1, next: -1} // not to be read
		} else {
			k = &partLog{jobLines: l.lines(j), id: j.ID, step: step, part: partOf(j), next: -1}
		}
		l.known[j.ID] = k
	}
	if k.end > 0 {
		return
	}
	switch { // the instant of its first line, or before
	case j.Attempt > 1 || j.Attempt == 1 && j.StartedMs == 0: // that of the first attempt is not known any more
		k.began = max(int64(j.CreatedAt)*1000, 1)
	default:
		k.began = cmp.Or(j.StartedMs, j.FinishedMs)
	}
	if j.Final() {
		k.end = max(j.FinishedMs, 1)
	}
}

// noteArchived notes a job that only the archive has. Its log is read when its turn comes.
func (l *flowLog) noteArchived(r *archive.Record) {
	j, err := r.Job()
	if err != nil || l.known[j.ID] != nil {
		return
	}
	l.note(j)
	l.known[j.ID].gone = true
}

func (l *flowLog) lines(j *domain.Job) jobLines {
	return jobLines{c: l.c, of: api.JobParams{Context: l.p.Context, Caller: j.CallerID, ID: j.ID}}
}

// stepOf is the name of the step that a job is, in a flow that was made of jobs.
func (l *flowLog) stepOf(key string) string {
	for i := range l.flow.Steps {
		if l.flow.Steps[i].Job == key {
			return l.flow.Steps[i].Name
		}
	}
	return ""
}

// partOf is which part of its step a job does.
func partOf(j *domain.Job) string {
	if _, span, ok := strings.Cut(j.Pack, ":"); ok {
		return span
	}
	return j.Shard
}

// searchArchive looks for the jobs of a flow whose steps had many, and that the board no
// longer has: an archive does not know which jobs were a flow's.
func (l *flowLog) searchArchive(ctx context.Context) error {
	q := archive.Query{Context: l.p.Context, Kind: domain.ArchiveJob, Caller: l.flow.CallerID, FromMs: int64(l.flow.CreatedAt) * 1000, Whole: true}
	if l.flow.Final() {
		q.ToMs = l.flow.FinishedMs + 1
	}
	for looked := 0; looked < archivedLook; {
		page, err := l.c.api.parts.Archive.Search(ctx, q)
		if errors.Is(err, domain.ErrNotFound) {
			return nil // there is none
		}
		if err != nil {
			return err
		}
		for i := range page.Records {
			if j, err := page.Records[i].Job(); err == nil && j.FlowID == l.flow.ID {
				l.noteArchived(&page.Records[i])
			}
		}
		if looked += len(page.Records); page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
	return nil
}

// arrange puts each job that has begun where it is read from.
func (l *flowLog) arrange() {
	for _, k := range l.known {
		if k.next < 0 && k.began > 0 {
			k.next = 0
			l.begun = append(l.begun, k)
		}
	}
	l.begun = append(l.begun, l.idle...)
	l.idle = nil
	slices.SortFunc(l.begun, func(a, b *partLog) int { return cmp.Or(cmp.Compare(a.began, b.began), cmp.Compare(a.id, b.id)) })
}

// line is the next line; nil where there is none for now.
func (l *flowLog) line(ctx context.Context) (*api.FlowLog, error) {
	for len(l.begun) > 0 && (len(l.open) == 0 || l.begun[0].began <= l.open[0].lines[0].AtMs) {
		k := l.begun[0]
		l.begun = l.begun[1:]
		if err := l.fill(ctx, k); err != nil {
			return nil, err
		}
		if len(k.lines) > 0 {
			heap.Push(&l.open, k)
		}
	}
	if len(l.open) == 0 {
		return nil, nil
	}
	k := l.open[0]
	out := &api.FlowLog{Log: k.lines[0], Step: k.step, Part: k.part}
	k.next++
	out.Job, out.N = k.id, k.next
	if k.lines = k.lines[1:]; len(k.lines) == 0 {
		if err := l.fill(ctx, k); err != nil {
			return nil, err
		}
	}
	if len(k.lines) > 0 {
		heap.Fix(&l.open, 0)
	} else {
		heap.Pop(&l.open)
	}
	return out, nil
}

// fill reads on in the log of a job. One that has nothing to say now is idle, unless it had
// ended before it was read.
func (l *flowLog) fill(ctx context.Context, k *partLog) (err error) {
	if err := l.unfold(ctx, k); err != nil {
		return err
	}
	if k.next == 0 && l.since > 0 {
		n, err := k.len(ctx)
		if err != nil {
			return err
		}
		if k.next, err = k.first(ctx, n, func(g domain.Log) bool { return g.AtMs >= l.since }); err != nil {
			return err
		}
	}
	lines, err := k.read(ctx, k.next, logChunk)
	if err != nil {
		return err
	}
	bytes := 0
	for i := range lines {
		if bytes += len(lines[i].Line); bytes > logChunkBytes && i > 0 {
			lines = slices.Clone(lines[:i])
			break
		}
	}
	if k.lines = lines; len(lines) == 0 {
		k.archived = nil
		if k.end == 0 {
			l.idle = append(l.idle, k)
		}
	}
	return nil
}

// unfold reads the log of a job that only the archive has.
func (l *flowLog) unfold(ctx context.Context, k *partLog) error {
	if !k.gone || k.archived != nil {
		return nil
	}
	r, err := l.c.api.parts.Archive.Get(ctx, l.p.Context, k.of.Key().String(), 0)
	if errors.Is(err, domain.ErrNotFound) {
		return nil
	}
	k.archived = r.Logs
	return err
}

// tail has each job read from where the last n lines of all begin. Those that ended before
// the first of these are not read.
func (l *flowLog) tail(ctx context.Context, n int) error {
	jobs := slices.Clone(l.begun)
	slices.SortFunc(jobs, func(a, b *partLog) int { // what runs has the newest lines, mostly
		return cmp.Or(cmp.Compare(min(a.end, 1), min(b.end, 1)), cmp.Compare(b.end, a.end), cmp.Compare(a.id, b.id))
	})
	var last instants
	ends := map[*partLog]int{}
	for _, k := range jobs {
		if len(last) == n && k.end > 1 && k.end < last[0] {
			ends[k] = -1
			continue
		}
		if err := l.unfold(ctx, k); err != nil {
			return err
		}
		size, err := k.len(ctx)
		if err != nil {
			return err
		}
		lines, err := k.read(ctx, max(size-n, 0), n)
		if err != nil {
			return err
		}
		for i := range lines {
			if lines[i].AtMs < l.since {
				continue
			}
			if heap.Push(&last, lines[i].AtMs); len(last) > n {
				heap.Pop(&last)
			}
		}
		ends[k] = size
		k.archived = nil
	}
	if len(last) < n {
		return nil // there are no more
	}
	cut := last[0]
	over := 0 // lines of the first instant that are too many
	for _, at := range last {
		if at == cut {
			over--
		}
	}
	for _, k := range jobs {
		size := ends[k]
		if size < 0 {
			continue
		}
		if err := l.unfold(ctx, k); err != nil {
			return err
		}
		lines, err := k.read(ctx, max(size-n, 0), n)
		if err != nil {
			return err
		}
		k.next = max(size-n, 0)
		for i := range lines {
			if lines[i].AtMs < cut {
				k.next++
			} else if lines[i].AtMs == cut {
				over++
			}
		}
	}
	l.begun = slices.DeleteFunc(l.begun, func(k *partLog) bool { return ends[k] < 0 })
	for ; over > 0; over-- {
		if _, err := l.line(ctx); err != nil {
			return err
		}
	}
	return nil
}

// instants is a heap, the oldest first.
type instants []int64

func (h instants) Len() int           { return len(h) }
func (h instants) Less(a, b int) bool { return h[a] < h[b] }
func (h instants) Swap(a, b int)      { h[a], h[b] = h[b], h[a] }
func (h *instants) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *instants) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
