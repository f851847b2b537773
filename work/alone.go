package work

import (
	"context"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

// This file has jobs run alone whose run ended with their node. One of those
// that ran there together may be why it ended; together again they would end
// the next node, and each would count one more loss, the harmless ones too. Run
// one by one, only the one that ends nodes is lost again, up to its last time.
//
// Only runtimes inside the process are served so: a script that is a process of
// its own ends without its node.

const (
	// aloneWait is how long a job waits for those that run already. Who runs for
	// longer has to bear its company.
	aloneWait = time.Minute
	// aloneAtMost is how long the claimer takes nothing else, the first time; each
	// further loss doubles it. As a rule what ends a node does so soon.
	aloneAtMost = time.Minute
	// mostDoubled is how often it doubles.
	mostDoubled = 5
)

// losses are those of a claimed job.
func losses(c board.Claimed) int {
	n, _ := strconv.Atoi(c.Record.Get(layout.JobLosses))
	return n
}

// singleOut chooses the run that is to be alone, if one of the claimed is of a
// lost job; the others are to be put back.
func (l *claimer) singleOut(list []*run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running += len(list)
	l.wary = false
	l.try(list)
	if !l.info.InProcess {
		return
	}
	for _, x := range list {
		if losses(x.Claimed) > 0 {
			l.alone, l.wary = x, true
			break
		}
	}
	if l.alone == nil {
		return
	}
	for _, x := range list {
		x.early = x != l.alone
	}
}

// isAlone reports that x is to run alone.
func (l *claimer) isAlone(x *run) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alone == x
}

// waitAlone waits until nothing else runs, but not for ever, and lets the claimer
// go on after a time even if x has not ended by then.
func (l *claimer) waitAlone(x *run) {
	late := time.NewTimer(aloneWait)
	defer late.Stop()
	for {
		l.mu.Lock()
		others := l.running - 1
		l.mu.Unlock()
		if others == 0 {
			break
		}
		select {
		case <-l.calm:
			continue
		case <-late.C:
		case <-x.Ctx.Done():
		}
		break
	}
	end := time.AfterFunc(aloneAtMost<<min(losses(x.Claimed)-1, mostDoubled), func() { l.goOn(x) })
	context.AfterFunc(x.Ctx, func() { end.Stop() }) // which ends with the run
}

// ran tells that a run has ended.
func (l *claimer) ran(x *run) {
	l.mu.Lock()
	l.running--
	if l.health.trial == x {
		l.health.trial = nil // whether it was started or not, another may try
	}
	l.mu.Unlock()
	select {
	case l.calm <- struct{}{}:
	default:
	}
	l.goOn(x)
}

// goOn lets the claimer take others, if x is why it does not.
func (l *claimer) goOn(x *run) {
	l.mu.Lock()
	was := l.alone == x
	if was {
		l.alone = nil
	}
	l.mu.Unlock()
	if was {
		l.items.Wake()
	}
}
