package service

import (
	"context"
	"sort"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// jobLines is the log of a job, wherever it lies: on the board, or in the archive.
type jobLines struct {
	c        Caller
	of       api.JobParams
	archived []domain.Log // where only the archive has it
	gone     bool
}

// read reads up to n lines from line number from on.
func (l *jobLines) read(ctx context.Context, from, n int) ([]domain.Log, error) {
	if l.gone {
		from = min(from, len(l.archived))
		return l.archived[from:min(from+n, len(l.archived))], nil
	}
	return l.c.api.parts.Jobs.Logs(ctx, l.of.Context, l.of.Key(), from, n)
}

func (l *jobLines) len(ctx context.Context) (int, error) {
	if l.gone {
		return len(l.archived), nil
	}
	return l.c.api.parts.Jobs.LogLen(ctx, l.of.Context, l.of.Key())
}

// first is the number of the first line for which is holds, where it holds for all that
// come after it, too. So it is with attempts, and with instants as far as the clocks of
// nodes agree.
func (l *jobLines) first(ctx context.Context, n int, is func(domain.Log) bool) (int, error) {
	var err error
	at := sort.Search(n, func(i int) bool {
		if err != nil {
			return true
		}
		var line []domain.Log
		line, err = l.read(ctx, i, 1)
		return len(line) == 0 || is(line[0])
	})
	return at, err
}

// span are the lines that are asked for: those from number from on, and before to where
// that is not negative. Lines that come later may follow.
func (l *jobLines) span(ctx context.Context, p *api.LogParams) (from, to int, err error) {
	from, to = p.From, -1
	if p.Attempt == 0 && p.SinceMs == 0 && (p.Tail == 0 || p.From > 0) {
		return from, to, nil
	}
	n, err := l.len(ctx)
	if err != nil {
		return from, to, err
	}
	bound := n
	if p.Attempt > 0 {
		begin, err := l.first(ctx, n, func(g domain.Log) bool { return g.Attempt >= p.Attempt })
		if err != nil {
			return from, to, err
		}
		end, err := l.first(ctx, n, func(g domain.Log) bool { return g.Attempt > p.Attempt })
		if err != nil {
			return from, to, err
		}
		if from = max(from, begin); end < n {
			to, bound = end, end
		}
	}
	if p.SinceMs > 0 {
		begin, err := l.first(ctx, bound, func(g domain.Log) bool { return g.AtMs >= p.SinceMs })
		if err != nil {
			return from, to, err
		}
		from = max(from, begin)
	}
	if p.Tail > 0 && p.From == 0 { // else it goes on behind what was had
		from = max(from, bound-p.Tail)
	}
	return from, to, nil
}
