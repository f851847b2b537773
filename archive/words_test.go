package archive_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

func TestWords(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"letters and digits in lower case", "Exit CODE 7", []string{"exit", "code", "7"}},
		{"each once", "a b A", []string{"a", "b"}},
		{"signs part words", "db-17.example.com:/var/log_x", []string{"db", "17", "example", "com", "var", "log", "x"}},
		{"other scripts", "Größe 数据 ЖУК", []string{"größe", "数据", "жук"}},
		{"nothing", " -\x00\xff", nil},
		{"a long word is cut", strings.Repeat("x", 100), []string{strings.Repeat("x", 64)}},
		{"at a whole letter", strings.Repeat("ü", 40) + "!", []string{strings.Repeat("ü", 32)}},
	} {
		if diff := cmp.Diff(c.want, archive.Words(c.text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add("Exit CODE 7: db-17 \xff\x00 İıſß")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range archive.Words(text) {
			if w == "" || len(w) > 64 || !utf8.ValidString(w) || strings.ContainsAny(w, " '\"*:&|!()\\\x00") {
				t.Errorf("word %q of %q could be read as more than a word", w, text)
			}
		}
	})
}

func TestWhateverIsOnTheBoardCanBePut(t *testing.T) {
	j := &domain.Job{ID: 1, CallerID: 2, Status: domain.JobError, Reason: domain.Reason(strings.Repeat("ü", 300) + "\x00\xff"),
		ScriptType: "a\x00\xffb", Script: "\xff\x00", Result: map[string]string{"\xff": "\x00"}, FinishedMs: 5}
	r, err := archive.OfJob(7, j, []domain.Log{{Line: "\xff\x00"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Errorf("got %v of a job that a foreign program wrote", err)
	}
	if r.BeginMs != 5 {
		t.Errorf("got the begin %d of a job that does not say, want its end", r.BeginMs)
	}
	var logs []domain.Log
	for range 40 {
		logs = append(logs, domain.Log{Line: strings.Repeat("x", 1<<20)})
	}
	logs[39].Line = "the end"
	if r, err = archive.OfJob(7, j, logs); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(); err != nil {
		t.Error(err)
	}
	if n := len(r.Logs); n < 25 || n > 35 || r.Logs[n-1].Line != "the end" || r.Logs[0].Stream != "ramet" {
		t.Errorf("got %d lines from %+v on, want the last ones, with a remark before", n, r.Logs[0].Line)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}
