package rhaiscript_test

import (
	"context"
	"testing"

	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/rhaiscript"
)

type quiet struct{}

func (quiet) Log(string, []byte) {}

// BenchmarkRun is one small script after the other: the same text, and a new
// one each time.
func BenchmarkRun(b *testing.B) {
	run := func(b *testing.B, r *rhaiscript.Runtime, source string) {
		out, err := r.Run(context.Background(), script.Task{Name: "job:1:1", Script: source}, quiet{})
		if err != nil || out.Verdict != script.Succeeded {
			b.Fatal(out, err)
		}
	}
	const source = "let sum = 0; for i in 0..10 { sum += i } #{sum: sum}"
	b.Run("known", func(b *testing.B) {
		r := rhaiscript.New(rhaiscript.Config{})
		b.ReportAllocs()
		for b.Loop() {
			run(b, r, source)
		}
	})
	b.Run("new", func(b *testing.B) {
		r := rhaiscript.New(rhaiscript.Config{})
		b.ReportAllocs()
		text := []byte(source + " // ........")
		for b.Loop() {
			// Another text each time: count in its last letters.
			for i := len(text) - 1; ; i-- {
				if text[i]++; text[i] <= 'z' {
					break
				}
				text[i] = 'a'
			}
			run(b, r, string(text))
		}
	})
}
