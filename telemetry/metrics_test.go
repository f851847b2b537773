package telemetry_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/telemetry"
)

// scrape is what Prometheus would read.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("got status %d", w.Code)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	tests := []struct {
		name string
		do   func(m *telemetry.Metrics)
		want []string // lines
		not  string   // in no line
	}{
		{name: "claimed jobs are counted by type", do: func(m *telemetry.Metrics) {
			m.JobsClaimed("python", 3)
			m.JobsClaimed("python", 2)
			m.JobsClaimed("v", 1)
		}, want: []string{`ramet_jobs_claimed_total{script_type="python"} 5`, `ramet_jobs_claimed_total{script_type="v"} 1`}},
		{name: "ends are counted by what came of them, and timed", do: func(m *telemetry.Metrics) {
			m.AttemptEnded(7, "v", domain.JobFinished, "", 2*time.Millisecond)
			m.AttemptEnded(7, "v", domain.JobError, domain.ReasonTimeout, time.Second)
		}, want: []string{
			`ramet_attempts_ended_total{reason="",script_type="v",status="finished"} 1`,
			`ramet_attempts_ended_total{reason="timeout",script_type="v",status="error"} 1`,
			`ramet_attempt_duration_seconds_bucket{script_type="v",le="0.001"} 0`,
			`ramet_attempt_duration_seconds_bucket{script_type="v",le="0.004"} 1`,
			`ramet_attempt_duration_seconds_sum{script_type="v"} 1.002`,
		}},
		{name: "lateness is observed in seconds", do: func(m *telemetry.Metrics) { m.AlarmHandled(1500 * time.Millisecond) },
			want: []string{"ramet_alarm_lateness_seconds_sum 1.5", "ramet_alarm_lateness_seconds_count 1"}},
		{name: "the oldest alarm's lateness is asked for", do: func(m *telemetry.Metrics) {
			m.ShowLateness(func() (time.Duration, error) { return 35 * time.Second, nil })
		}, want: []string{"ramet_oldest_alarm_lateness_seconds 35"}},
		{name: "a lateness that nobody knows is no number", do: func(m *telemetry.Metrics) {
			m.ShowLateness(func() (time.Duration, error) { return 0, domain.ErrUnavailable })
		}, want: []string{"ramet_oldest_alarm_lateness_seconds NaN"}},
		{name: "the room on the disk is asked for", do: func(m *telemetry.Metrics) {
			m.ShowDisk(func() (int64, bool) { return 1 << 20, true })
		}, want: []string{"ramet_disk_free_bytes 1.048576e+06"}},
		{name: "a room that nobody knows is no number", do: func(m *telemetry.Metrics) {
			m.ShowDisk(func() (int64, bool) { return 0, false })
		}, want: []string{"ramet_disk_free_bytes NaN"}},
		{name: "an audit counts repairs and shows what is stuck", do: func(m *telemetry.Metrics) {
			m.Audited(7, 2, 3)
			m.Audited(8, 1, 0)
		}, want: []string{"ramet_audit_repaired_total 3", `ramet_stuck_jobs{context="context:7"} 3`}, not: "context:8"},
		{name: "a context with nothing stuck any more has no series", do: func(m *telemetry.Metrics) {
			m.Audited(7, 0, 3)
			m.Audited(7, 0, 0)
		}, not: "context:7"},
		{name: "what waits for the archive is shown in records and seconds", do: func(m *telemetry.Metrics) {
			m.ArchiveBacklog(9, 90*time.Second)
			m.Archived(3)
			m.ArchiveFailed()
			m.ArchiveRefused()
		}, want: []string{"ramet_archive_backlog_records 9", "ramet_archive_backlog_age_seconds 90", "ramet_archive_records_total 3",
			"ramet_archive_failures_total 1", "ramet_archive_refused_total 1"}},
		{name: "a node that no longer archives does not say what waits", do: func(m *telemetry.Metrics) {
			m.ArchiveBacklog(9, 90*time.Second)
			m.ArchiveBacklog(-1, 0)
		}, not: "ramet_archive_backlog"},
		{name: "flows are counted by how they ended", do: func(m *telemetry.Metrics) {
			m.FlowEnded(domain.FlowSucceeded, 1500*time.Millisecond)
			m.FlowEnded(domain.FlowFailed, time.Second)
		}, want: []string{`ramet_flows_ended_total{reason="succeeded"} 1`, `ramet_flows_ended_total{reason="failed"} 1`,
			"ramet_flow_duration_seconds_sum 2.5"}},
		{name: "tasks of circles are counted by circle and how they ended, and timed", do: func(m *telemetry.Metrics) {
			m.TaskEnded("friends", domain.TaskCompleted, 2*time.Millisecond)
			m.TaskEnded("friends", domain.TaskError, time.Second)
		},
			want: []string{`ramet_circle_tasks_ended_total{circle="friends",status="completed"} 1`, `ramet_circle_tasks_ended_total{circle="friends",status="error"} 1`,
				`ramet_circle_task_duration_seconds_sum{circle="friends"} 1.002`}},
		{name: "denials are shown as they are counted elsewhere", do: func(m *telemetry.Metrics) { m.CountDenials(func() int64 { return 4 }) },
			want: []string{"ramet_denials_total 4"}},
		{name: "so is what callers hold", do: func(m *telemetry.Metrics) {
			m.CountDoors(func() map[string]int64 { return map[string]int64{"streams": 3} }, func() map[string]int64 { return map[string]int64{"bytes": 6} })
		}, want: []string{`ramet_door_used{of="streams"} 3`, `ramet_door_refused_total{of="bytes"} 6`}},
		{name: "so are lost lines of the audit log", do: func(m *telemetry.Metrics) { m.CountAuditDropped(func() int64 { return 5 }) },
			want: []string{"ramet_audit_dropped_total 5"}},
		{name: "retries, waits and lost leases are counted by type", do: func(m *telemetry.Metrics) {
			m.AttemptBegun(7, "v", false, 2*time.Millisecond)
			m.AttemptBegun(7, "v", true, 3*time.Second)
			m.LeaseLost("v")
		}, want: []string{`ramet_job_retries_total{script_type="v"} 1`, `ramet_leases_lost_total{script_type="v"} 1`,
			`ramet_job_wait_duration_seconds_sum{script_type="v"} 3.002`}, not: "ramet_context_"},
		{name: "times of schedules are counted by what became of them", do: func(m *telemetry.Metrics) {
			m.ScheduleTimes(7, "nightly", domain.ScheduleMade, 1, 2*time.Second)
			m.ScheduleTimes(7, "nightly", domain.ScheduleMissed, 9, 0)
		}, want: []string{`ramet_schedule_times_total{outcome="missed"} 9`, "ramet_schedule_lateness_seconds_sum 2"}, not: "nightly"},
		{name: "deliveries are counted by outcome, those without a webhook too, and names are nobody's to choose", do: func(m *telemetry.Metrics) {
			m.ExpectDeliveries("started", "locked")
			m.Delivered(7, "deploy", "started", true)
			m.Delivered(7, "", "unknown", false)
		}, want: []string{`ramet_webhook_deliveries_total{outcome="started"} 1`, `ramet_webhook_deliveries_total{outcome="unknown"} 1`,
			`ramet_webhook_deliveries_total{outcome="locked"} 0`}, not: "deploy"},
		{name: "events of listeners are counted by outcome", do: func(m *telemetry.Metrics) {
			m.ExpectEvents("started", "held")
			m.ListenerRead(7, "shipped", "held", false)
		}, want: []string{`ramet_listener_events_total{outcome="held"} 1`, `ramet_listener_events_total{outcome="started"} 0`}, not: "shipped"},
		{name: "listeners are behind together", do: func(m *telemetry.Metrics) {
			m.ShowStanding(func() telemetry.Standing {
				return telemetry.Standing{Listeners: []telemetry.ListenerStanding{{Context: 7, Listener: "shipped", Behind: 3, Oldest: time.Minute},
					{Context: 8, Listener: "paid", Behind: 2, Oldest: time.Hour}}}
			})
		}, want: []string{"ramet_listener_behind_events 5", "ramet_listener_lag_seconds 3600"}, not: "shipped"},
		{name: "no listener is no lag, and a node without streams says nothing", do: func(m *telemetry.Metrics) {
			m.ShowStanding(func() telemetry.Standing { return telemetry.Standing{Listeners: []telemetry.ListenerStanding{}} })
		}, want: []string{"ramet_listener_behind_events 0"}},
		{name: "what is not known of listeners is no zero", do: func(m *telemetry.Metrics) {
			m.ShowStanding(func() telemetry.Standing {
				return telemetry.Standing{Listeners: []telemetry.ListenerStanding{}, ListenersMissed: true, ListenersUnknown: 2}
			})
		}, want: []string{"ramet_listeners_unknown 2"}, not: "ramet_listener_lag_seconds"},
		{name: "commits are timed and measured", do: func(m *telemetry.Metrics) {
			m.Committed("ok", 3, 1000, 2*time.Millisecond)
			m.BoardFailed("claim")
		}, want: []string{`ramet_board_commit_duration_seconds_sum{outcome="ok"} 0.002`, "ramet_board_commit_batches_sum 3",
			"ramet_board_written_bytes_total 1000", `ramet_board_errors_total{call="claim"} 1`}},
		{name: "requests are counted by operation and status", do: func(m *telemetry.Metrics) {
			m.HTTPAnswered("job.submit", 200, time.Millisecond)
			m.HTTPAnswered("", 404, time.Millisecond)
		}, want: []string{`ramet_http_requests_total{code="200",operation="job.submit"} 1`, `ramet_http_requests_total{code="404",operation="other"} 1`}},
		{name: "what waits and runs is shown as a look finds it", do: func(m *telemetry.Metrics) {
			m.ShowStanding(func() telemetry.Standing {
				return telemetry.Standing{Queues: []telemetry.QueueStanding{{Type: "v", Contexts: 2, Waiting: 30, Oldest: 90 * time.Second}},
					Others: []telemetry.ItemStanding{{Queue: "msg_out", Items: 4}}, Slots: []telemetry.SlotStanding{{Type: "v", Slots: 8, Taken: 5, Served: true}},
					Contexts:   []telemetry.ContextStanding{{Context: 7, Waiting: 20, Running: 3, Oldest: time.Minute, Cap: 3}, {Context: 8, Cap: -1}},
					MovesSagas: true, SagasUnknown: 2, Sagas: []telemetry.SagaStanding{{Context: 7, Saga: "order", Behind: 12, Oldest: 2 * time.Second}},
					Outboxes: []telemetry.OutboxStanding{{Context: 7, Saga: "order", Items: 6, Oldest: time.Second}}, BoardBytes: -1, Partial: true}
			})
		}, want: []string{`ramet_jobs_waiting{script_type="v"} 30`, `ramet_jobs_oldest_waiting_seconds{script_type="v"} 90`,
			`ramet_jobs_waiting_contexts{script_type="v"} 2`, `ramet_queue_waiting_items{queue="msg_out"} 4`, `ramet_runner_slots{script_type="v"} 8`,
			`ramet_jobs_running{script_type="v"} 5`, `ramet_script_type_served{script_type="v"} 1`, `ramet_context_jobs_waiting{context="context:7"} 20`,
			`ramet_context_cap_leases{context="context:7"} 3`, `ramet_saga_behind_events{context="context:7",saga="order"} 12`,
			`ramet_saga_lag_seconds{context="context:7",saga="order"} 2`, `ramet_saga_outbox_items{context="context:7",saga="order"} 6`,
			"ramet_sagas_unknown 2", "ramet_standing_partial 1"}, not: `ramet_context_cap_leases{context="context:8"}`},
		{name: "the program is named", do: func(m *telemetry.Metrics) { m.Built("1.2.3") }, want: []string{"# TYPE ramet_build_info gauge"}},
		{name: "the process itself is shown", do: func(*telemetry.Metrics) {}, want: []string{"# TYPE go_goroutines gauge"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := telemetry.NewMetrics()
			tt.do(m)
			got := scrape(t, m)
			for _, line := range tt.want {
				if !strings.Contains(got, line+"\n") {
					t.Errorf("want the line %s in\n%s", line, got)
				}
			}
			if tt.not != "" && strings.Contains(got, tt.not) {
				t.Errorf("want no %q in\n%s", tt.not, got)
			}
		})
	}
}

// TestContextsThatAreChosen have series of their own, and no others.
func TestContextsThatAreChosen(t *testing.T) {
	m := telemetry.NewMetrics(7)
	for _, tenant := range []domain.TenantID{7, 8} {
		m.AttemptBegun(tenant, "v", false, time.Second)
		m.AttemptEnded(tenant, "v", domain.JobFinished, "", time.Second)
		m.ScheduleTimes(tenant, "nightly", domain.ScheduleMade, 1, 0)
		m.Delivered(tenant, "deploy", "started", true)
		m.Delivered(tenant, "", "unknown", false)
		m.ListenerRead(tenant, "shipped", "started", true)
	}
	m.ShowStanding(func() telemetry.Standing {
		return telemetry.Standing{Listeners: []telemetry.ListenerStanding{{Context: 7, Listener: "shipped", Behind: 3}, {Context: 8, Listener: "shipped"}}}
	})
	got := scrape(t, m)
	for _, want := range []string{`ramet_context_attempts_ended_total{context="context:7",script_type="v",status="finished"} 1`,
		`ramet_context_job_wait_duration_seconds_count{context="context:7"} 1`,
		`ramet_schedule_last_success_timestamp_seconds{context="context:7",schedule="nightly"}`,
		`ramet_context_webhook_deliveries_total{context="context:7",outcome="started",webhook="deploy"} 1`,
		`ramet_webhook_last_success_timestamp_seconds{context="context:7",webhook="deploy"}`,
		`ramet_context_listener_events_total{context="context:7",listener="shipped",outcome="started"} 1`,
		`ramet_listener_last_success_timestamp_seconds{context="context:7",listener="shipped"}`,
		`ramet_context_listener_behind_events{context="context:7",listener="shipped"} 3`} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "context:8") {
		t.Error("a context that was not chosen has series of its own")
	}
	if strings.Contains(got, `outcome="unknown",webhook=`) {
		t.Error("what is no webhook has a series of its own")
	}
}

// TestNamesThatComeAndGoAreBounded: who deletes and makes webhooks all day makes no series all day.
func TestNamesThatComeAndGoAreBounded(t *testing.T) {
	m := telemetry.NewMetrics(7)
	for i := range 3 * domain.MaxWebhooksOf {
		m.Delivered(7, fmt.Sprint("w", i), "started", true)
		m.ListenerRead(7, fmt.Sprint("l", i), "started", true)
	}
	for i := range 2 * domain.MaxSchedulesOf {
		m.ScheduleTimes(7, fmt.Sprint("s", i), domain.ScheduleMade, 1, 0)
	}
	got := scrape(t, m)
	for metric, most := range map[string]int{"ramet_context_webhook_deliveries_total{": domain.MaxWebhooksOf,
		"ramet_context_listener_events_total{":                               domain.MaxListenersOf,
		`ramet_schedule_last_success_timestamp_seconds{context="context:7",`: domain.MaxSchedulesOf} {
		if n := strings.Count(got, "\n"+metric); n != most+1 {
			t.Errorf("%s has %d series, want %d and one for all others", metric, n, most)
		}
	}
	want := fmt.Sprintf(`ramet_context_webhook_deliveries_total{context="context:7",outcome="started",webhook="other"} %d`, 2*domain.MaxWebhooksOf)
	if !strings.Contains(got, want) {
		t.Errorf("want %s", want)
	}
}

// TestNames holds every metric of ours to the conventions of Prometheus: a counter ends in
// _total, everything else in its unit or what it counts, in base units.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range telemetry.NewMetrics().All() {
		switch total := strings.HasSuffix(m.Name, "_total"); {
		case seen[m.Name]:
			t.Errorf("%s is there twice", m.Name)
		case !strings.HasPrefix(m.Name, "ramet_"):
			t.Errorf("%s: want a name that begins with ramet_", m.Name)
		case total != (m.Kind == telemetry.Counter):
			t.Errorf("%s is a %s: want counters, and nothing else, to end in _total", m.Name, m.Kind)
		case m.Kind == telemetry.Histogram && !strings.HasSuffix(m.Name, "_seconds") && !strings.HasSuffix(m.Name, "_batches"):
			t.Errorf("%s: want a histogram to end in its unit", m.Name)
		case strings.Contains(m.Name, "millisecond") || strings.HasSuffix(m.Name, "_ms") || strings.Contains(m.Name, "kilo"):
			t.Errorf("%s: want base units", m.Name)
		case m.Help == "" || m.Do == "":
			t.Errorf("%s: want a sentence of what it is and one of what to do", m.Name)
		}
		seen[m.Name] = true
	}
}

// everything has every metric shown.
func everything(m *telemetry.Metrics) {
	m.Built("1.2.3")
	m.Durable("board", "disk")
	m.CountDenials(func() int64 { return 1 })
	m.CountAuditDropped(func() int64 { return 1 })
	one := func() map[string]int64 { return map[string]int64{"streams": 1} }
	m.CountDoors(one, one)
	m.CountRESP(func() (map[string]int64, int64) { return one(), 1 })
	m.RESPAnswered(time.Second, true)
	m.HTTPAnswered("job.submit", 200, time.Second)
	m.ShowLateness(func() (time.Duration, error) { return time.Second, nil })
	m.ShowDisk(func() (int64, bool) { return 1, true })
	m.ShowStanding(func() telemetry.Standing {
		return telemetry.Standing{Queues: []telemetry.QueueStanding{{Type: "v"}}, Others: []telemetry.ItemStanding{{Queue: "msg_out"}},
			Slots: []telemetry.SlotStanding{{Type: "v"}}, Contexts: []telemetry.ContextStanding{{Context: 7}},
			MovesSagas: true, Sagas: []telemetry.SagaStanding{{Context: 7, Saga: "order"}},
			Outboxes: []telemetry.OutboxStanding{{Context: 7, Saga: "order"}}, Streams: []telemetry.StreamStanding{{Stream: "s"}},
			Listeners: []telemetry.ListenerStanding{{Context: 7, Listener: "shipped"}}}
	})
	m.JobsClaimed("v", 1)
	m.AttemptBegun(7, "v", true, time.Second)
	m.AttemptEnded(7, "v", domain.JobFinished, "", time.Second)
	m.LeaseLost("v")
	m.Audited(1, 1, 1)
	m.AlarmHandled(time.Second)
	m.ArchiveBacklog(1, time.Second)
	m.TaskEnded("friends", domain.TaskCompleted, time.Second)
	m.FlowsMade(1)
	m.FlowEnded(domain.FlowFailed, time.Second)
	m.EffectBegun("mail", "smtp")
	m.EffectTried("mail", "smtp", "ok", time.Second)
	m.EffectEnded("mail", "succeeded", 1, time.Second)
	m.EffectDead("mail")
	m.BreakerTurned("smtp", "open")
	m.SagaEvents("order", 1, 1, 1, time.Second)
	m.SagaSent("effect", 1, time.Second)
	m.SagaDead(domain.DeadSaga)
	m.ListenerDead(domain.DeadEvent)
	m.ScheduleTimes(7, "nightly", domain.ScheduleMade, 1, time.Second)
	m.Delivered(7, "deploy", "started", true)
	m.ListenerRead(7, "shipped", "started", true)
	m.MessageSent("job")
	m.MessageReceived("job")
	m.MessageRefused("replayed")
	m.MessageEnded("job", domain.MessageProcessed, time.Second)
	m.Committed("ok", 1, 1, time.Second)
	m.BoardFailed("get")
}

// TestDeadLettersAreCountedTogether, whoever gave up: an alert asks one metric for all.
func TestDeadLettersAreCountedTogether(t *testing.T) {
	m := telemetry.NewMetrics(7)
	everything(m)
	text := scrape(t, m)
	for _, kind := range []domain.DeadKind{domain.DeadSaga, domain.DeadEvent, domain.DeadEffect} {
		if want := fmt.Sprintf("ramet_dead_letters_total{kind=%q} 1\n", kind); !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestAllThatIsDescribedIsShown, with the labels that it is described with, and nothing else.
func TestAllThatIsDescribedIsShown(t *testing.T) {
	m := telemetry.NewMetrics(7)
	everything(m)
	got := scrape(t, m)
	described := map[string]bool{}
	for _, d := range m.All() {
		described[d.Name] = true
		if !strings.Contains(got, "# TYPE "+d.Name+" "+string(d.Kind)+"\n") {
			t.Errorf("%s is described as a %s and not shown", d.Name, d.Kind)
		}
	}
	for line := range strings.Lines(got) {
		if name, ok := strings.CutPrefix(line, "# TYPE ramet_"); ok && !described["ramet_"+strings.Fields(name)[0]] {
			t.Errorf("%s is shown and not described", strings.TrimSpace(line))
		}
	}
}
