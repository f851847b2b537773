package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestDoctorOfWhatANodeStandsOn(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	ms := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	const day = 24 * time.Hour
	alive := func(name, version string, format int) domain.Node {
		return domain.Node{Name: name, Version: version, Format: format, SeenMs: ms(-time.Second)}
	}
	for _, tt := range []struct {
		name  string
		told  Answers
		what  string
		state string
		text  string // "": there is no such finding
	}{
		{"a command that is a node itself", Answers{Passing: true, Info: api.Info{Board: "redis"}}, "nodes", Warning, "no node lives on this board"},
		{"beside the record of one that was killed", Answers{Passing: true, Info: api.Info{Board: "embedded"}, Nodes: []domain.Node{alive("a", "v1", 1)}},
			"nodes", Warning, "no node lives on this board"},
		{"beside one that lives", Answers{Passing: true, Info: api.Info{Board: "redis"}, Nodes: []domain.Node{alive("a", "v1", 1)}}, "nodes", "", ""},
		{"a node that stays", Answers{Info: api.Info{Board: "embedded"}}, "nodes", "", ""},
		{"clocks agree", Answers{Info: api.Info{NowMs: ms(9 * time.Second)}}, "clock", "", ""},
		{"a clock ahead", Answers{Info: api.Info{Name: "n", NowMs: ms(time.Hour)}}, "clock", Warning, "node n is 1h0m0s ahead of"},
		{"a clock behind", Answers{Info: api.Info{Name: "n", NowMs: ms(-time.Hour)}}, "clock", Warning, "node n is 1h0m0s behind"},
		{"a good certificate", Answers{Info: api.Info{Certificates: []api.Certificate{{Of: "the doors", File: "c.pem", FromMs: ms(-day), UntilMs: ms(90 * day)}}}},
			"certificate of the doors", OK, "good until"},
		{"one that runs out", Answers{Info: api.Info{Certificates: []api.Certificate{{Of: "the doors", File: "c.pem", FromMs: ms(-day), UntilMs: ms(13 * day)}}}},
			"certificate of the doors", Warning, "runs out at"},
		{"one that ran out", Answers{Info: api.Info{Certificates: []api.Certificate{{Of: "the doors", File: "c.pem", FromMs: ms(-day), UntilMs: ms(-time.Second)}}}},
			"certificate of the doors", Bad, "ran out at"},
		{"one of tomorrow", Answers{Info: api.Info{Certificates: []api.Certificate{{Of: "the doors", File: "c.pem", FromMs: ms(day), UntilMs: ms(90 * day)}}}},
			"certificate of the doors", Bad, "is the clock right?"},
		{"one that is gone", Answers{Info: api.Info{Certificates: []api.Certificate{{Of: "the doors", File: "c.pem", Error: "no such file"}}}},
			"certificate of the doors", Bad, "cannot be read: no such file"},
		{"a setting", Answers{Info: api.Info{Settings: []api.Setting{{Of: "archive", Text: "fsync is off"}}}}, "archive", Warning, "fsync is off"},
		{"sizes", Answers{Info: api.Info{Sizes: []api.Size{{Of: "board", Bytes: 3 << 20}, {Of: "artifacts", Bytes: 17}}}},
			"sizes", OK, "board 3 MiB, artifacts 17 B"},
		{"nodes alike", Answers{Nodes: []domain.Node{alive("a", "1.0.0", 1), alive("b", "1.0.0", 1)}}, "versions", "", ""},
		{"nodes of two versions", Answers{Nodes: []domain.Node{alive("b", "1.1.0", 2), alive("a", "1.0.0", 1), alive("c", "1.1.0", 2)}}, "versions", Warning,
			"version 1.0.0 on a; version 1.1.0 on b, c"},
		{"of two formats", Answers{Nodes: []domain.Node{alive("b", "1.1.0", 2), alive("a", "1.0.0", 1)}}, "format", Warning, "format 1 on a; format 2 on b"},
		{"a node that cannot keep what jobs left", Answers{Nodes: []domain.Node{{Name: "a", SeenMs: now.UnixMilli(),
			Unkept: []domain.Unkept{{Context: 1, Job: "1:2", Full: true, Why: "no room"}, {Context: 1, Job: "1:3", Why: "away"}}}}}, "artifacts", Bad,
			"jobs of node a that have done their work and cannot leave their files: 2, no room; make room there"},
		{"more of them than it names", Answers{Nodes: []domain.Node{{Name: "a", SeenMs: now.UnixMilli(), Unkept: make([]domain.Unkept, domain.MaxUnkept)}}},
			"artifacts", Bad, "100 or more"},
		{"one that is gone since", Answers{Nodes: []domain.Node{{Name: "a", Unkept: make([]domain.Unkept, 1)}}}, "artifacts", "", ""},
		{"an older one that has gone", Answers{Nodes: []domain.Node{alive("b", "1.1.0", 2), {Name: "a", Version: "1.0.0"}}}, "versions", "", ""},
		{"a backlog that is of before there was no archive", Answers{Info: api.Info{Archive: "none",
			ArchiveBacklog: &domain.ArchiveBacklog{Waiting: 7, OldestMs: ms(-day)}}}, "archive", OK, "none: what has ended is gone"},
		{"what came due before the node was there", Answers{Info: api.Info{Board: "embedded", StartedMs: ms(-time.Second),
			LateAlarm: &api.LateAlarm{Name: "x", LateMs: 3_600_000}}}, OfAlarms, OK, "in time"},
		{"and is not done", Answers{Info: api.Info{Board: "embedded", StartedMs: ms(-time.Hour), LateAlarm: &api.LateAlarm{Name: "x", LateMs: 3_600_000}}},
			OfAlarms, Warning, "not done at once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []Finding
			for _, f := range Of(tt.told, "", now).Findings {
				if f.What == tt.what && f.State == tt.state {
					got = append(got, f)
				}
				if f.What == tt.what && tt.text == "" {
					t.Errorf("got %+v, want nothing of it", f)
				}
			}
			if tt.text != "" && (len(got) == 0 || !strings.Contains(got[0].Text, tt.text)) {
				t.Errorf("got %+v, want %q", got, tt.text)
			}
		})
	}
}
