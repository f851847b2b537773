package flow

import (
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file is how the keeper's state lies on the board.

// stateFields are the fields of a new flow's state.
func (e *Engine) stateFields(d *draft) []board.Field {
	fields := []board.Field{{Name: layout.FlowStateCaller, Value: strconv.FormatUint(uint64(d.flow.CallerID), 10)}}
	if len(d.state.Steps) > e.spread.whole {
		fields = append(fields, e.spreadFields(d.plan, d.state)...)
	} else {
		fields = append(fields, board.Field{Name: layout.FlowStateData, Value: stateText(d.state)})
	}
	if len(d.parts) > 0 {
		fields = append(fields, board.Field{Name: layout.FlowStatePlan, Value: strconv.Itoa(len(d.parts))})
	}
	if d.flow.Stepped {
		return append(fields, board.Field{Name: layout.FlowStateStepped, Value: "true"})
	}
	return append(fields, board.Field{Name: layout.FlowStateFirst, Value: strconv.FormatUint(uint64(d.flow.Jobs[0]), 10)},
		board.Field{Name: layout.FlowStateCount, Value: strconv.Itoa(len(d.flow.Jobs))})
}

func stateText(s State) string { return pack(jsonText(s)) }

func jsonText(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a flow's state cannot be written as JSON: " + err.Error())
	}
	return text
}

// pack is the text of a state's JSON.
func pack(text []byte) string {
	if len(text) < packFrom {
		return string(text)
	}
	var b strings.Builder
	b.WriteByte(packed)
	w, _ := flate.NewWriter(&b, flate.BestSpeed) // it knows its own levels
	_, err1 := w.Write(text)
	if err := errors.Join(err1, w.Close()); err != nil {
		panic("BUG: writing into memory: " + err.Error())
	}
	return b.String()
}

const (
	// packFrom is from how many bytes on a state is written deflated: that of
	// ten thousand steps would be larger than a field may be.
	packFrom = 16 << 10
	// packed begins such a text.
	packed = 'z'
	// maxState bounds what it is inflated to.
	maxState = 64 << 20
)

// unpack is the JSON of a state's text.
func unpack(text string) ([]byte, error) {
	if text == "" || text[0] != packed {
		return []byte(text), nil
	}
	r := flate.NewReader(strings.NewReader(text[1:]))
	return io.ReadAll(io.LimitReader(r, maxState))
}

// stored is a flow's state as it lies on the board.
type stored struct {
	State
	stepped bool
	caller  domain.ActorID
	// first and count are the jobs of a plain flow.
	first domain.JobID
	count int
	ids   []domain.JobID // of a foreign program's flow, whose jobs have any
	// changed are steps that are not as their records say, by their numbers; records is
	// how many of these there are.
	changed map[int]json.RawMessage
	records int
	parts   int // records that its blueprint lies in
	lists   int // records of the elements of lists
}

// decodeState reads the record of a flow's state.
//
// Errors: [domain.ErrInvalid].
func decodeState(id domain.FlowID, r board.Record) (s stored, err error) {
	number := func(field string) uint64 {
		n, _ := strconv.ParseUint(r.Get(field), 10, 32)
		return n
	}
	s.stepped = r.Get(layout.FlowStateStepped) == "true"
	s.caller = domain.ActorID(number(layout.FlowStateCaller))
	s.records, s.parts = int(number(layout.FlowStateRecords)), int(number(layout.FlowStatePlan))
	s.lists = int(number(layout.FlowStateLists))
	s.first, s.count = domain.JobID(number(layout.FlowStateFirst)), int(number(layout.FlowStateCount))
	if list := r.Get(layout.FlowStateJobs); list != "" {
		if err := json.Unmarshal([]byte(list), &s.ids); err != nil {
			return s, domain.Invalidf("the jobs of flow %d cannot be read: %v", id, err)
		}
		s.count = len(s.ids)
	}
	text := r.Get(layout.FlowStateData)
	if text == "{}" || text == "" {
		return s, nil
	}
	err = decodePacked(text, &s.State)
	if changed := r.Get(layout.FlowStateChanged); changed != "" && err == nil {
		err = decodePacked(changed, &s.changed)
	}
	if err == nil && s.Sums != nil && (s.Sums.Size < 1 || s.Sums.Steps < 1 || s.Sums.Steps > domain.MaxFlowSteps) {
		err = fmt.Errorf("it has %d steps, %d in a record", s.Sums.Steps, s.Sums.Size)
	}
	if err != nil {
		return s, domain.Invalidf("the state of flow %d cannot be read: %v", id, err)
	}
	return s, nil
}

// decodePacked reads what pack has written.
func decodePacked(text string, into any) error {
	data, err := unpack(text)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return err
}

// job is the key of the n-th job of a plain flow.
func (s *stored) job(n int) domain.JobKey {
	if s.ids != nil {
		return domain.JobKey{Caller: s.caller, ID: s.ids[n]}
	}
	return domain.JobKey{Caller: s.caller, ID: s.first + domain.JobID(n)}
}
