package flow

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file is how the text of a flow's blueprint lies on the board: in one field, or
// deflated and in parts where it is too long for that.

const (
	// planPart is how many bytes lie in one record: a commit writes one of them, and etcd
	// takes 1.5 MiB in a transaction.
	planPart = 512 << 10
	// maxPlanParts is how many records a text that cannot be made smaller comes to.
	maxPlanParts = domain.MaxPlanBytes/planPart + 1
)

// planParts cuts a text that is too long for one field; nil for any other.
func planParts(text []byte) (parts []string) {
	if len(text) <= domain.MaxBlueprintBytes {
		return nil
	}
	for part := range slices.Chunk([]byte(pack(text)), planPart) {
		parts = append(parts, string(part))
	}
	return parts
}

// planText reads the text of a flow's blueprint; "" where the board has none.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) planText(ctx context.Context, p ref) (string, error) {
	recs, err := e.board.GetFields(ctx, p.space, []string{layout.FlowPlanText, layout.FlowStatePlan}, layout.FlowPlan(p.id), layout.FlowState(p.id))
	if err != nil {
		return "", err
	}
	n, _ := strconv.Atoi(recs[1].Get(layout.FlowStatePlan))
	if text := recs[0].Get(layout.FlowPlanText); text != "" || n < 1 || n > maxPlanParts {
		return text, nil
	}
	var text strings.Builder
	for part := range n { // one after the other: an answer of the board has bounds too
		recs, err := e.board.Get(ctx, p.space, layout.FlowPlanPart(p.id, part))
		if err != nil {
			return "", err
		}
		if recs[0] == nil {
			return "", nil
		}
		text.WriteString(recs[0].Get(layout.FlowPlanText))
	}
	plain, err := unpack(text.String())
	if err != nil {
		return "", domain.Invalidf("the flow's blueprint cannot be read: %v", err)
	}
	return string(plain), nil
}

// writePlan writes the parts of a flow's blueprint, as long as the flow is being written.
func (s *submission) writePlan(ctx context.Context, d *draft, written func(b *board.Batch)) error {
	for n, part := range d.parts {
		b := board.Batch{Space: s.space}
		b.Set(layout.FlowPlanPart(d.flow.ID, n), board.Field{Name: layout.FlowPlanText, Value: part})
		written(&b)
		if err := s.e.board.Commit(ctx, b); err != nil {
			return err
		}
	}
	return nil
}
