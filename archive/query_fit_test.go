package archive_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
)

// TestWhatFitsMayFit: what is found by its words is not passed over for how it is stored.
func TestWhatFitsMayFit(t *testing.T) {
	texts := []string{"exit 0", `echo "<b>Größe & \n K\u0041</b>"`, "ÄÖÜ\x00ß\x1b[31mrot\xffweiß", "İstanbul Kelvin", "\u2028line",
		strings.Repeat("a", 100) + " b"}
	for i, text := range texts {
		j := &domain.Job{ID: 1, CallerID: 1, Script: text, ScriptType: "shell", Status: domain.JobFinished, FinishedMs: 1000,
			Result: map[string]string{"out": text}, EnvVars: map[string]string{"SECRET": "hunter2"}}
		r, err := archive.OfJob(1, j, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Texts = nil // as read from a store
		for _, word := range archive.Words(text) {
			for _, q := range []string{word, strings.ToUpper(word), word[:1]} {
				p, err := archive.Query{Context: 1, Text: q}.Plan()
				if err != nil {
					continue // the first byte of a letter
				}
				if p.Fits(&r) && !p.MayFit(r.Body) {
					t.Errorf("text %d: %q is there, and passed over", i, q)
				}
			}
			p, _ := archive.Query{Context: 1, Text: word}.Plan()
			if !p.Fits(&r) {
				t.Errorf("text %d: %q is not found", i, word)
			}
		}
		for _, q := range []string{"hunter2", "secret", "xit"} {
			if p, _ := (archive.Query{Context: 1, Text: q}).Plan(); p.Fits(&r) {
				t.Errorf("text %d: %q is found", i, q)
			}
		}
	}
}
