package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ramet-run/ramet/domain"
)

// Standing is what waits and runs at one instant.
type Standing struct {
	// Queues are those of jobs, by script type, of the whole board.
	Queues []QueueStanding
	// Others are queues that are not of jobs, by name, with the items in them.
	Others []ItemStanding
	// Slots are the runner's, of this node.
	Slots []SlotStanding
	// Contexts are those with series of their own.
	Contexts []ContextStanding
	// Sagas are those whose first partition this node holds, Outboxes all of which it
	// holds one. MovesSagas says that the node moves sagas at all, and SagasUnknown of how many of
	// them nothing is known.
	Sagas        []SagaStanding
	MovesSagas   bool
	SagasUnknown int
	Outboxes     []OutboxStanding
	Streams      []StreamStanding
	// Listeners are those of the whole board that are not paused; nil: this node has no streams.
	// ListenersMissed says that some could not be looked at now, and ListenersUnknown of how many
	// nothing is known, as they could not be lately either.
	Listeners        []ListenerStanding
	ListenersMissed  bool
	ListenersUnknown int
	// BoardBytes is what the board takes on this node's disk; less than 0: it is elsewhere.
	BoardBytes int64
	Kept
	// Partial says that there was more than is looked at for metrics, or no time for it:
	// what waits is at least what is said.
	Partial bool
	// Took is how long the look took, and At when it began.
	Took time.Duration
	At   time.Time
}

// Kept is how much the archive and the store of artifacts have, for the whole board; less
// than 0: there is none, or nobody knows.
type Kept struct {
	ArchiveBytes, ArchiveRecords int64
	ArtifactBytes                int64
}

// QueueStanding is what waits of a script type. Oldest is how long the next job to be
// taken has waited.
type QueueStanding struct {
	Type              domain.ScriptType
	Contexts, Waiting int
	Oldest            time.Duration
}

// ItemStanding is how many items a queue has.
type ItemStanding struct {
	Queue string
	Items int
}

// SlotStanding is how the slots of a type are used.
type SlotStanding struct {
	Type         domain.ScriptType
	Slots, Taken int
	Served       bool
}

// ContextStanding is what waits and runs of one context. Cap is how many leases it may
// have at once; less than 0: any number.
type ContextStanding struct {
	Context          domain.TenantID
	Waiting, Running int
	Oldest           time.Duration
	Cap              int
}

// SagaStanding is what a saga of a context has not handled yet, and how old the oldest
// event of that is.
type SagaStanding struct {
	Context domain.TenantID
	Saga    string
	Behind  uint64
	Oldest  time.Duration
}

// OutboxStanding is what waits to be sent, in the partitions of this node.
type OutboxStanding struct {
	Context domain.TenantID
	Saga    string
	Items   int
	Oldest  time.Duration
}

// StreamStanding is what an event stream holds.
type StreamStanding struct {
	Stream          string
	Messages, Bytes uint64
}

// shown are numbers that are kept elsewhere, and asked for at each scrape. What nobody has
// given is not shown.
type shown struct {
	denials, dropped func() int64
	used, refused    func() map[string]int64
	resp             func() (by map[string]int64, failed int64)
	late, disk       func() float64
	standing         func() Standing
	own              func(domain.TenantID) (label string, own bool)

	of struct {
		denials, dropped, used, refused, commands, failed, late, disk *prometheus.Desc
		waiting, contexts, oldest, items, slots, running, served      *prometheus.Desc
		ownWaiting, ownOldest, ownRunning, ownCap                     *prometheus.Desc
		behind, lag, outbox, outboxAge, messages, bytes, boardBytes   *prometheus.Desc
		sagasUnknown                                                  *prometheus.Desc
		archiveBytes, artifactBytes                                   *prometheus.Desc
		events, eventLag, unknown, ownEvents, ownLag                  *prometheus.Desc
		partial, took                                                 *prometheus.Desc
	}
}

func (s *shown) register(r *registrar) {
	o := &s.of
	gauge := func(name, help, do string, labels ...string) *prometheus.Desc {
		return r.describe(Metric{Name: name, Kind: Gauge, Help: help, Do: do, Labels: labels})
	}
	ofBoard := func(name, help, do string, labels ...string) *prometheus.Desc {
		return r.describe(Metric{Name: name, Kind: Gauge, Help: help, Do: do, Labels: labels, Board: true})
	}
	counter := func(name, help, do string, labels ...string) *prometheus.Desc {
		return r.describe(Metric{Name: name, Kind: Counter, Help: help, Do: do, Labels: labels})
	}
	o.denials = counter("ramet_denials_total", "Requests that were refused because the actor lacks the right.", "The audit log says who wanted what.")
	o.dropped = counter("ramet_audit_dropped_total", "Lines of the audit log that were lost because there were too many at once.",
		"Somebody is refused thousands of times a second, as a rule: see `ramet_denials_total`.")
	o.used = gauge("ramet_door_used", "What callers hold now, by what the bounds of `doors` are called.",
		"Near a bound: raise it under `doors`, or see who holds so much.", "of")
	o.refused = counter("ramet_door_refused_total", "How often something was refused because a bound of `doors` was reached.",
		"Callers got 429 or were not let in. The log names one now and then.", "of")
	o.commands = counter("ramet_resp_commands_total", "Commands at the Redis door, by name (other: there is none of that name).",
		"other: a client wants what the door does not have; its own log has the text.", "command")
	o.failed = counter("ramet_resp_errors_total", "Answers of the Redis door that are errors.", "The client's log has the text; rights are in the audit log.")
	o.late = ofBoard("ramet_oldest_alarm_lateness_seconds", "How long ago the alarm of the board has come that is due longest and not handled yet.",
		"More than 20 s: no node has the duty of the clockwork, or it cannot follow; retries, time-outs and schedules are late with it.")
	o.disk = gauge("ramet_disk_free_bytes", "What is free on the disk of the data folder.", "Free some space before intake stops: see `disk` in the config file.")
	o.waiting = ofBoard("ramet_jobs_waiting", "Jobs that are queued, by script type.",
		"Long queues are no fault by themselves: look at the oldest.", "script_type")
	o.contexts = ofBoard("ramet_jobs_waiting_contexts", "Contexts that have jobs in the queue of a type.",
		"They take turns: see weights and caps where one waits too long.", "script_type")
	o.oldest = ofBoard("ramet_jobs_oldest_waiting_seconds", "How long the job has waited that is to be taken next.",
		"Nobody serves the type, all slots are taken, or a ban, duty or cap holds it: `ramet doctor`, `ramet job explain`.", "script_type")
	o.items = ofBoard("ramet_queue_waiting_items", "Items in queues that are not of jobs: messages, flows for their keeper, tasks of circles.",
		"It goes up and down within seconds. Where it only grows, no node has the duty (supervisor, keeper) or serves the circle.", "queue")
	o.slots = gauge("ramet_runner_slots", "How many scripts of a type this node runs at once.", "Set `slots` in the config file.", "script_type")
	o.running = gauge("ramet_jobs_running", "Jobs that this node runs now.",
		"At `ramet_runner_slots` for long while jobs wait: add nodes or slots.", "script_type")
	o.served = gauge("ramet_script_type_served", "1 where scripts of a type can be started on this node, else 0.",
		"`ramet runner list` says why not: an interpreter is missing, a disk is full, a wall cannot be made.", "script_type")
	o.ownWaiting = ofBoard("ramet_context_jobs_waiting", "Jobs that are queued, of the contexts in `metrics_contexts`.", "As `ramet_jobs_waiting`.", "context")
	o.ownOldest = ofBoard("ramet_context_jobs_oldest_waiting_seconds", "How long the next job of the context has waited.",
		"Longer than others': the context is at its cap, or its weight is small.", "context")
	o.ownRunning = gauge("ramet_context_jobs_running", "Jobs of the context that this node runs now.",
		"Compare their sum with `ramet_context_cap_leases`.", "context")
	o.ownCap = ofBoard("ramet_context_cap_leases", "How many leases the context may have at once (`max`); there is none where it has no cap.",
		"Raise it with `ramet context update --max-running`, if the context is to have more.", "context")
	o.behind = ofBoard("ramet_saga_behind_events", "Events that a saga has not handled yet.",
		"It grows: nobody moves the saga, or it cannot follow; `ramet saga lag`.", "context", "saga")
	o.lag = ofBoard("ramet_saga_lag_seconds", "How old the oldest event is that a saga has not handled yet: its true lag.",
		"More than seconds: `ramet saga lag` shows the partition and who has it.", "context", "saga")
	o.sagasUnknown = gauge("ramet_sagas_unknown", "Sagas of which this node, which leads them, could not find out for a minute how far they are behind. Of those "+
		"that were behind, what was seen last is shown, whose lag grows.", "The streams' broker is away, or answers slowly: `ramet doctor`, `ramet saga lag`.")
	o.outbox = gauge("ramet_saga_outbox_items", "Work of sagas that waits to be sent, in the partitions that this node has.",
		"What takes it (streams, jobs, effects) is away or slow; the log says which.", "context", "saga")
	o.outboxAge = gauge("ramet_saga_outbox_age_seconds", "How long ago the oldest of it was made.", "As `ramet_saga_outbox_items`.", "context", "saga")
	o.events = ofBoard("ramet_listener_behind_events", "Events that listeners have not dealt with yet, of all listeners that are not paused.",
		"It grows: see `ramet_listener_lag_seconds`.")
	o.eventLag = ofBoard("ramet_listener_lag_seconds", "How old the oldest event is that a listener has not dealt with yet.",
		"More than seconds: no node serves listeners, or what an event is to start cannot be started; `ramet listener list`, `ramet doctor`.")
	o.unknown = gauge("ramet_listeners_unknown", "Listeners of which this node could not find out for a minute how far they are behind. What is known of others "+
		"is shown; of those that were behind, what was seen last, whose lag grows.",
		"The streams' broker is away, or answers slowly: `ramet doctor`, `ramet listener list`.")
	o.ownEvents = ofBoard("ramet_context_listener_behind_events", "Events that a listener of the contexts in `metrics_contexts` has not dealt with yet.",
		"As `ramet_listener_behind_events`.", "context", "listener")
	o.ownLag = ofBoard("ramet_context_listener_lag_seconds", "How old the oldest of them is.", "As `ramet_listener_lag_seconds`.", "context", "listener")
	o.messages = ofBoard("ramet_stream_messages", "Messages that an event stream holds.", "It bounds how far back sagas can be rebuilt.", "stream")
	o.bytes = ofBoard("ramet_stream_bytes", "Their bytes.", "See that the disk of the streams has room.", "stream")
	o.boardBytes = gauge("ramet_board_size_bytes", "What the embedded board takes on disk.", "What has ended leaves it after `retention`, once it is archived.")
	o.archiveBytes = ofBoard("ramet_archive_size_bytes", "What the archive has, without the room that removed records left. It is looked at once a minute.",
		"Bound it with `archive_retention` and `archive_bytes`.")
	o.artifactBytes = ofBoard("ramet_artifact_size_bytes", "What jobs have left in the artifact store and is not forgotten yet, each job's files for themselves. "+
		"It is looked at once a minute, where there are at most 500 contexts.", "Bound it with `artifact_retention` and, for each context, `artifact_bytes`.")
	o.partial = gauge("ramet_standing_partial", "1 where there was more to look at than is read for a scrape: what waits is at least what is shown.",
		"There is more than a look takes, and the numbers are lower bounds; or what was asked did not answer: `ramet doctor`, and of listeners "+
			"`ramet_listeners_unknown`, of sagas `ramet_sagas_unknown`.")
	o.took = gauge("ramet_standing_duration_seconds", "How long the last look at what waits took; a look is good for five seconds.",
		"It is bounded by a second for the board, one for sagas, one for listeners and one for sizes. Near that the board, the streams or the archive answer slowly.")
	r.MustRegister(s)
}

// Describe is [prometheus.Collector]'s.
func (s *shown) Describe(out chan<- *prometheus.Desc) { out <- s.of.took }

// Collect is [prometheus.Collector]'s.
func (s *shown) Collect(out chan<- prometheus.Metric) {
	o := &s.of
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	if s.denials != nil {
		counter(o.denials, s.denials())
	}
	if s.dropped != nil {
		counter(o.dropped, s.dropped())
	}
	if s.used != nil {
		for of, n := range s.used() {
			gauge(o.used, float64(n), of)
		}
		for of, n := range s.refused() {
			counter(o.refused, n, of)
		}
	}
	if s.resp != nil {
		by, failed := s.resp()
		for name, n := range by {
			counter(o.commands, n, name)
		}
		counter(o.failed, failed)
	}
	if s.late != nil {
		gauge(o.late, s.late())
	}
	if s.disk != nil {
		gauge(o.disk, s.disk())
	}
	if s.standing != nil {
		s.collect(s.standing(), gauge)
	}
}

// collect shows a look at what waits.
func (s *shown) collect(is Standing, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	o := &s.of
	for _, q := range is.Queues {
		gauge(o.waiting, float64(q.Waiting), string(q.Type))
		gauge(o.contexts, float64(q.Contexts), string(q.Type))
		gauge(o.oldest, q.Oldest.Seconds(), string(q.Type))
	}
	for _, q := range is.Others {
		gauge(o.items, float64(q.Items), q.Queue)
	}
	for _, t := range is.Slots {
		gauge(o.slots, float64(t.Slots), string(t.Type))
		gauge(o.running, float64(t.Taken), string(t.Type))
		served := 0.0
		if t.Served {
			served = 1
		}
		gauge(o.served, served, string(t.Type))
	}
	for _, c := range is.Contexts {
		label := domain.Tenant{ID: c.Context}.Key()
		gauge(o.ownWaiting, float64(c.Waiting), label)
		gauge(o.ownOldest, c.Oldest.Seconds(), label)
		gauge(o.ownRunning, float64(c.Running), label)
		if c.Cap >= 0 {
			gauge(o.ownCap, float64(c.Cap), label)
		}
	}
	for _, l := range is.Sagas {
		label := domain.Tenant{ID: l.Context}.Key()
		gauge(o.behind, float64(l.Behind), label, l.Saga)
		gauge(o.lag, l.Oldest.Seconds(), label, l.Saga)
	}
	if is.MovesSagas {
		gauge(o.sagasUnknown, float64(is.SagasUnknown))
	}
	for _, b := range is.Outboxes {
		label := domain.Tenant{ID: b.Context}.Key()
		gauge(o.outbox, float64(b.Items), label, b.Saga)
		gauge(o.outboxAge, b.Oldest.Seconds(), label, b.Saga)
	}
	for _, st := range is.Streams {
		gauge(o.messages, float64(st.Messages), st.Stream)
		gauge(o.bytes, float64(st.Bytes), st.Stream)
	}
	if is.Listeners != nil {
		s.listeners(&is, gauge)
	}
	if is.BoardBytes >= 0 {
		gauge(o.boardBytes, float64(is.BoardBytes))
	}
	if is.ArchiveBytes >= 0 {
		gauge(o.archiveBytes, float64(is.ArchiveBytes))
	}
	if is.ArtifactBytes >= 0 {
		gauge(o.artifactBytes, float64(is.ArtifactBytes))
	}
	partial := 0.0
	if is.Partial {
		partial = 1
	}
	gauge(o.partial, partial)
	gauge(o.took, is.Took.Seconds())
}
