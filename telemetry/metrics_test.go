package telemetry_test

import (
	"net/http/httptest"
	"slices"
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
			m.AttemptEnded("v", domain.JobFinished, "", 2*time.Millisecond)
			m.AttemptEnded("v", domain.JobError, domain.ReasonTimeout, time.Second)
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

// TestNamesEndInTheirUnit holds every metric of ours to the rule of the package.
func TestNamesEndInTheirUnit(t *testing.T) {
	m := telemetry.NewMetrics()
	m.CountDenials(func() int64 { return 0 })
	m.CountAuditDropped(func() int64 { return 0 })
	m.JobsClaimed("v", 1)
	m.AttemptEnded("v", domain.JobFinished, "", 0)
	m.TaskEnded("friends", domain.TaskCompleted, 0)
	m.Audited(1, 0, 1)
	m.ArchiveBacklog(1, time.Second)
	m.FlowEnded(domain.FlowFailed, 0)
	seen := 0
	for line := range strings.Lines(scrape(t, m)) {
		name, kind, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "# TYPE ")), " ")
		if !ok || !strings.HasPrefix(line, "# TYPE ramet_") {
			continue
		}
		seen++
		units := map[string][]string{"counter": {"_total"}, "histogram": {"_seconds"}, "gauge": {"_jobs", "_records", "_seconds"}}[kind]
		if !slices.ContainsFunc(units, func(unit string) bool { return strings.HasSuffix(name, unit) }) {
			t.Errorf("%s %s: want a name that ends in one of %q", kind, name, units)
		}
	}
	if seen != 17 {
		t.Errorf("got %d metrics of ours, want 17", seen)
	}
}
