package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

const (
	// maxFollowed is how many logs are followed at once. Logs are kept, so
	// those of later jobs are only shown later.
	maxFollowed = 64
	// lookEvery is how often jobs are looked at for the lines on a terminal.
	lookEvery = 500 * time.Millisecond
	// stopWait is how long cancelled jobs may take: the runner kills a script
	// five seconds after it was told to stop.
	stopWait = 15 * time.Second
)

// watch follows jobs from submit to end and shows them.
type watch struct {
	client *client.Client
	tenant domain.TenantID
	screen *screen
	keys   []domain.JobKey
	labels []string
	single bool

	mu   sync.Mutex
	jobs []*domain.Job // as last seen; nil: not yet
}

func newWatch(c *client.Client, tenant domain.TenantID, s *screen, keys []domain.JobKey) *watch {
	w := &watch{client: c, tenant: tenant, screen: s, keys: keys, single: len(keys) == 1, jobs: make([]*domain.Job, len(keys))}
	oneCaller := !slices.ContainsFunc(keys, func(k domain.JobKey) bool { return k.Caller != keys[0].Caller })
	for _, k := range keys {
		label := strconv.FormatUint(uint64(k.ID), 10)
		if !oneCaller {
			label = strconv.FormatUint(uint64(k.Caller), 10) + ":" + label
		}
		w.labels = append(w.labels, label)
	}
	return w
}

// follow shows the jobs until all have ended.
//
// Errors: ctx's, [domain.ErrUnavailable].
func (w *watch) follow(ctx context.Context) error {
	drawing, stop := context.WithCancel(ctx)
	var drawer sync.WaitGroup
	if w.screen.live() {
		drawer.Go(func() { w.keepDrawn(drawing) })
	}
	g, following := errgroup.WithContext(ctx)
	g.SetLimit(maxFollowed)
	for i := range w.keys {
		g.Go(func() error { return w.followOne(following, i) })
	}
	err := g.Wait()
	stop()
	drawer.Wait()
	w.screen.draw(nil)
	return err
}

func (w *watch) followOne(ctx context.Context, i int) error {
	j, err := w.client.FollowLogs(ctx, w.tenant, w.keys[i], 0, func(l domain.Log) error {
		w.line(i, l)
		return nil
	})
	if err != nil {
		return err
	}
	w.saw(i, j)
	if !w.single {
		w.screen.note(w.labels[i] + " │ " + ending(j))
	}
	return nil
}

// line shows one line of a log. Of several jobs, each line says whose it is;
// of one, the lines go where the script wrote them.
func (w *watch) line(i int, l domain.Log) {
	switch {
	case !w.single:
		w.screen.log(w.labels[i] + " │ " + l.Line)
	case l.Stream == "stdout":
		w.screen.log(l.Line)
	case l.Stream == "ramet":
		w.screen.note("ramet: " + l.Line)
	default:
		w.screen.note(l.Line)
	}
}

func (w *watch) saw(i int, j *domain.Job) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs[i] == nil || !w.jobs[i].Final() {
		w.jobs[i] = j
	}
}

// ended are the jobs as they were last seen; those never seen are left out.
func (w *watch) ended() []*domain.Job {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.jobs), func(j *domain.Job) bool { return j == nil })
}

// open are the places of the jobs that are not known to have ended.
func (w *watch) open() (places []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, j := range w.jobs {
		if j == nil || !j.Final() {
			places = append(places, i)
		}
	}
	return places
}

// cancel tells all jobs that have not ended to stop, and waits until they
// have. When it returns without an error, no job starts any more.
func (w *watch) cancel(ctx context.Context) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer done()
	places := w.open()
	w.screen.note(fmt.Sprintf("ramet: interrupted, cancelling %d job(s)", len(places)))
	var failed []error
	// Backwards: those that wait for others end before these would free them.
	for _, i := range slices.Backward(places) {
		_, err := w.client.Cancel(ctx, w.tenant, w.keys[i])
		if err != nil && !errors.Is(err, domain.ErrConflict) {
			failed = append(failed, fmt.Errorf("cancel %s: %w", w.keys[i], err))
		}
	}
	if len(failed) > 0 {
		return failed[0] // the others fail for the same reason, as a rule
	}
	for _, i := range places {
		j, err := w.client.Wait(ctx, w.tenant, w.keys[i])
		if err != nil {
			return fmt.Errorf("%s is cancelled but has not stopped yet: %w", w.keys[i], err)
		}
		w.saw(i, j)
	}
	return nil
}

// keepDrawn looks at the jobs and draws their lines until ctx ends.
func (w *watch) keepDrawn(ctx context.Context) {
	draw := time.NewTicker(drawEvery)
	defer draw.Stop()
	var looked time.Time
	for {
		if now := time.Now(); now.Sub(looked) >= lookEvery {
			w.look(ctx)
			looked = now
		}
		w.screen.draw(w.status(time.Now()))
		select {
		case <-draw.C:
		case <-ctx.Done():
			return
		}
	}
}

// look asks how jobs stand. An error is left to those who follow the logs.
func (w *watch) look(ctx context.Context) {
	for n, i := range w.open() {
		if n == maxFollowed {
			return
		}
		if j, err := w.client.Job(ctx, w.tenant, w.keys[i]); err == nil && !j.Final() {
			w.saw(i, j)
		}
	}
}

// status is a line for each job that has not ended; those that have are said
// above already.
func (w *watch) status(now time.Time) (lines []string) {
	for _, i := range w.open() {
		w.mu.Lock()
		j := w.jobs[i]
		w.mu.Unlock()
		lines = append(lines, w.labels[i]+" │ "+standing(j, now))
	}
	return lines
}

// standing says in words how an unfinished job stands.
func standing(j *domain.Job, now time.Time) string {
	switch {
	case j == nil:
		return "submitted"
	case j.Cancel != "":
		return "stopping"
	case j.Suspended != nil:
		return "waits " + suspendedText(j.Suspended)
	case j.NextRetryMs != 0:
		return fmt.Sprintf("attempt %d failed, next try in %s", j.Attempt, span(max(0, time.UnixMilli(j.NextRetryMs).Sub(now))))
	case j.Status == domain.JobStarted && j.StartedMs != 0:
		text := "running " + max(0, now.Sub(time.UnixMilli(j.StartedMs))).Truncate(time.Second).String()
		if j.Attempt > 1 {
			text += fmt.Sprintf(" (attempt %d)", j.Attempt)
		}
		return text
	case j.NotBefore > now.UnixMilli() && j.Status == domain.JobDispatched:
		return "begins " + clock(j.NotBefore)
	case j.Phase() == domain.PhaseBlocked:
		return "waiting for what it needs"
	}
	return "waiting for a runner"
}

// ending says in words how a job ended.
func ending(j *domain.Job) string {
	if j.Status == domain.JobFinished {
		return "finished in " + took(j)
	}
	text := "failed"
	if j.Reason == domain.ReasonCancelled {
		text = "cancelled"
	} else if j.Reason != "" {
		text += " (" + string(j.Reason) + ")"
	}
	if j.Error != "" {
		text += ": " + j.Error
	}
	return visible(text)
}

// took is how long the last attempt ran.
func took(j *domain.Job) string {
	if j.StartedMs == 0 || j.FinishedMs == 0 {
		return ""
	}
	return span(time.Duration(j.FinishedMs-j.StartedMs) * time.Millisecond)
}
