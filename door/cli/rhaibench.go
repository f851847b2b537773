package cli

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"github.com/ramet-run/ramet/rhai"
)

// This file measures scripts. Another implementation writes the same lines,
// so that the two can be compared.

// rhaiMeasure is a line of `ramet rhai --bench`. The times are processor time
// of the whole process, the garbage collector's too, each the least of the rounds.
type rhaiMeasure struct {
	File      string   `json:"file"`
	Rounds    int      `json:"rounds"`
	CompileMS *float64 `json:"compile_ms,omitempty"`
	RunMS     *float64 `json:"run_ms,omitempty"`
	Result    *string  `json:"result,omitempty"` // the value's text, cut; shows that both did the same work
	Error     string   `json:"error,omitempty"`
}

// maxMeasuredResult is where the text of a result is cut, in characters.
const maxMeasuredResult = 200

func (a *app) rhaiBench(ctx context.Context, files []string, rounds int) error {
	enc := json.NewEncoder(bare(a.std.Out))
	enc.SetEscapeHTML(false)
	for _, file := range files {
		m := rhaiMeasure{File: file, Rounds: rounds}
		if err := m.measure(ctx, file); err != nil {
			m.CompileMS, m.RunMS, m.Error = nil, nil, err.Error()
		}
		if err := enc.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

func (m *rhaiMeasure) measure(ctx context.Context, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := string(b)
	e := rhai.NewEngine()
	e.OnPrint = func(string) {}
	e.OnDebug = func(string, string, rhai.Pos) {}
	for range max(m.Rounds, 1) {
		start := processorTime()
		s, err := e.Compile(text)
		if err != nil {
			return err
		}
		least(&m.CompileMS, start)

		start = processorTime()
		v, err := s.Run(ctx, nil)
		if err != nil {
			return err
		}
		least(&m.RunMS, start)
		shown := []rune(v.Display())
		result := string(shown[:min(len(shown), maxMeasuredResult)])
		m.Result = &result
	}
	return nil
}

// least keeps the processor time since start, in ms, if it is less than best.
func least(best **float64, start time.Duration) {
	took := float64(processorTime()-start) / float64(time.Millisecond)
	if *best == nil || took < **best {
		*best = &took
	}
}
