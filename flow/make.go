package flow

import (
	"fmt"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// This file decides which jobs are made.

// makeMost bounds the jobs that one round makes: their commit is one batch.
const makeMost = 150

// makeUnits makes what the windows have room for, earlier steps first.
func (a *advancer) makeUnits() {
	if a.d.asks() || a.f.Banned {
		return // called again
	}
	m := maker{advancer: a, room: makeMost, parallel: 1 << 30}
	if a.p.MaxParallel > 0 {
		m.parallel = a.p.MaxParallel - a.s.Sums.Open
	}
	m.crowd()
	ranks := slices.Clone(a.s.Sums.Ready)
	if a.all {
		ranks = Ranges{{0, int64(len(a.p.order) - 1)}} // what is full says so
	}
	for rank := range slices.Clone(a.s.Sums.Made).all() {
		i := a.p.order[rank]
		if _, ok := a.at(i); ok {
			st, was := a.lift(i)
			st.Status = domain.StepRunning
			a.settle(i, was)
		}
	}
	for rank := range ranks.all() {
		if a.d.More = a.d.More || m.full; m.full || !a.all && m.parallel <= 0 {
			return
		}
		i := a.p.order[rank]
		if st, ok := a.at(i); !ok {
			m.room, m.parallel = m.room-1, m.parallel-1
			m.full = m.room <= 0
		} else if st.Status == domain.StepOpen && !a.stopped(i) {
			m.make(i, st)
		}
	}
	a.d.More = a.d.More || m.full
}

// maker makes units.
type maker struct {
	*advancer
	room     int  // for the jobs of one batch
	parallel int  // how many more may be open
	full     bool // there is no room for what could be made
}

// make makes units of a step that is open.
func (m *maker) make(i int, st *StepState) {
	text := ""
	approval := m.p.Steps[i].KindOr() == domain.StepApproval
	if approval {
		text = st.Text
	} else if m.advancer.full(st) {
		text = fmt.Sprintf("no more of it is begun: what ended badly leaves %d gaps in the flow; it ends with its last job, unless that is retried", m.gaps)
	}
	if st.Text != text && (text != "" || m.parallel > 0) { // else it is not looked at where only some steps are
		st = m.change(i)
		st.Text = text
	}
	window := m.window(i, st)
	if text != "" && !approval || st.left() && (len(st.Open) >= window || m.parallel <= 0) {
		return
	}
	if m.full = m.room <= 0; m.full {
		return
	}
	if _, fresh := m.f.Lists[i]; fresh && st.Split.Flows {
		// Its children are found again beside its list. Where that lies must be written down
		// before the first is made: whoever follows would make a list and children of its own.
		m.d.More = true
		return
	}
	later := false // a child cannot be made yet
	st, was := m.lift(i)
	for st.left() && len(st.Open) < window && m.parallel > 0 && !m.full {
		if m.full = m.room <= 0; m.full {
			break
		}
		u := st.next()
		if st.Split.Flows && u.Flow == 0 {
			m.room--
			if ok := m.child(i, st, &u); !ok && len(st.Lost) > 0 && st.Lost[0].ID == u.ID {
				later = true
				break
			} else if !ok {
				continue
			}
		}
		m.parallel--
		if u.Flow != 0 && u.Ends != 0 {
			m.bound(i, &u)
			m.d.AgainFlows = append(m.d.AgainFlows, ChildEnd{u.Flow, u.Ends})
		} else if u.Job != 0 {
			m.d.Again = append(m.d.Again, u.Job)
		} else if !st.Split.Flows {
			m.room -= 1 + m.p.bytes[i]*makeMost/partBytes
			m.d.Make = append(m.d.Make, Place{i, len(st.Open)})
		}
		st.Open = append(st.Open, u)
	}
	if !st.left() {
		st.Status = domain.StepRunning
		if approval {
			st.Split = nil // the notice is no part of what is to be done
		}
	}
	m.settle(i, was)
	if later {
		m.later(i)
	}
}

// next takes the next unit off what is left. It has a job where that is to be
// started again.
func (st *StepState) next() Unit {
	if len(st.Lost) > 0 {
		u := st.Lost[0]
		st.Lost = st.Lost[1:]
		return u
	}
	end := st.Split.last()
	if end-st.At >= st.Split.Size { // what is left is more than one
		end = st.At + st.Split.Size - 1
	}
	u := Unit{ID: st.Next, Start: st.At, End: end}
	st.Next++
	st.At = end + 1
	return u
}
