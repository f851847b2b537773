package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
)

// This file has what the jobs of a step leave that is done for each element of a list: each puts
// its result beside those of the others, in the commit that ends it. One that has no room there
// says where it stands, which is on the job's own record, and is read from that.

// addResult keeps what the job of an element leaves to the steps after it.
func addResult(b *board.Batch, j *domain.Job, result map[string]string) {
	part, ok := shardOf(j.Shard)
	if j.Item == "" || !ok {
		return
	}
	PutResult(b, j.FlowID, j.List, part.Index, domain.MaxItemBytes, j.Key().String(), result)
}

// PutResult adds to b what the job of an element, or a flow that a step made for it, leaves
// to the steps after it: where that is more than most bytes, on which record it stands.
func PutResult(b *board.Batch, flow domain.FlowID, list int, index int64, most int, from string, result map[string]string) {
	kept := handedOn(result)
	if len(kept) == 0 {
		return // which is what is read where nothing is written
	}
	f := layout.MapField(strconv.FormatInt(index, 10), kept)
	if n := len(f.Value); n > most {
		f.Value = fmt.Sprintf(`{"ramet.cut":"the result has %d bytes, of which %d are handed on%s%s"}`, n, most, standsOn, from)
	}
	b.Set(layout.FlowResults(flow, list+int(index/layout.ListSize)), f)
}

// handedOn is what of a result the steps after it find.
func handedOn(result map[string]string) map[string]string {
	kept := map[string]string{}
	for name, value := range result {
		switch {
		case name == script.KeyExitCode || name == script.KeyStdout || name == script.KeyStderr,
			strings.HasPrefix(name, "params."), strings.HasPrefix(name, domain.SettingPrefix):
		default:
			kept[name] = value
		}
	}
	return kept
}

const (
	// elsewhere is the only name of a result that stands on another record, the key of which
	// its text ends with, after standsOn. Nodes up to 1.0 handed that text on as it is.
	elsewhere = "ramet.cut"
	standsOn  = "; it stands on "
)

// standingOn is the record that a result stands on; "" of one that is there.
func standingOn(result map[string]string) string {
	if _, key, ok := strings.Cut(result[elsewhere], standsOn); ok && len(result) == 1 {
		return key
	}
	return ""
}

// Results are what the jobs of a step left that was done for each element of a list, as a
// step of the same flow needs it.
//
// Errors: [domain.ErrLimit] where they are more than [domain.MaxResultsBytes] together, or the
// record of one is gone that has no room beside the others; [domain.ErrInvalid].
func (e *Engine) Results(ctx context.Context, tenant domain.TenantID, flow domain.FlowID, n domain.Need) (domain.Results, error) {
	list, bytes := make(domain.Results, n.Items), 0
	var away []int // those that stand elsewhere
	err := e.eachResult(ctx, tenant, flow, n, func(i int64, text string) error {
		if bytes += len(text); bytes > domain.MaxResultsBytes {
			return tooLarge(n.Items)
		}
		if err := json.Unmarshal([]byte(text), &list[i]); err != nil {
			return domain.Invalidf("the result of element %d cannot be read: %v", i, err)
		}
		if standingOn(list[i]) != "" {
			away = append(away, int(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := e.fetchResults(ctx, layout.SpaceOf(tenant), flow, list, away, bytes); err != nil {
		return nil, err
	}
	for i := range list {
		if list[i] == nil {
			list[i] = map[string]string{}
		}
	}
	return list, nil
}

// ResultsText is [Engine.Results] as one JSON list of at most so many bytes. What lies on the board
// is taken as it is, so that nobody reads what is written out again, and no more than has room.
//
// Errors: those of Results; [domain.ErrLimit] where the list is larger than most.
func (e *Engine) ResultsText(ctx context.Context, tenant domain.TenantID, flow domain.FlowID, n domain.Need, most int) (string, error) {
	texts, bytes, away := slices.Repeat([]string{"{}"}, int(n.Items)), 0, false
	err := e.eachResult(ctx, tenant, flow, n, func(i int64, text string) error {
		if bytes += len(text); bytes > most {
			return tooLarge(n.Items)
		}
		if !json.Valid([]byte(text)) {
			return domain.Invalidf("the result of element %d cannot be read", i)
		}
		away = away || strings.Contains(text, elsewhere)
		texts[i] = text
		return nil
	})
	if err != nil || !away {
		return "[" + strings.Join(texts, ",") + "]", err
	}
	list, err := e.Results(ctx, tenant, flow, n)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// eachResult gives the results of a list as they lie on the board, in any order. Elements that
// left nothing are left out.
func (e *Engine) eachResult(ctx context.Context, tenant domain.TenantID, flow domain.FlowID, n domain.Need, take func(i int64, text string) error) error {
	const atOnce = 16
	for from := 0; from < layout.ListRecords(n.Items); from += atOnce {
		var keys []string
		for k := from; k < min(from+atOnce, layout.ListRecords(n.Items)); k++ {
			keys = append(keys, layout.FlowResults(flow, n.List+k))
		}
		recs, err := board.Readable(e.board.Get(ctx, layout.SpaceOf(tenant), keys...))
		if err != nil {
			return err
		}
		for _, r := range recs {
			for _, f := range r {
				i, err := strconv.ParseInt(f.Name, 10, 64)
				if err != nil || i < 0 || i >= n.Items {
					continue
				}
				if err := take(i, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func tooLarge(items int64) error {
	return domain.Limitf("the results of its %d jobs have more than %d bytes together; hand them on as artifacts, or where they are", items,
		domain.MaxResultsBytes)
}

// fetchResults reads the results of elements that stand elsewhere, some at a time, where the
// others have so many bytes. It reads of no other flow.
func (e *Engine) fetchResults(ctx context.Context, space board.Space, flow domain.FlowID, list domain.Results, away []int, bytes int) error {
	slices.Sort(away)
	for part := range slices.Chunk(away, 8) {
		keys := make([]string, len(part))
		for k, i := range part {
			keys[k] = standingOn(list[i])
		}
		recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobResult, layout.JobFlowID, layout.FlowParent}, keys...))
		if err != nil {
			return err
		}
		for k, i := range part {
			result, ok := resultOf(keys[k], recs[k], flow)
			if !ok {
				return domain.Limitf("the result of element %d has more than %d bytes and stands on %s, which is gone, or of another flow; hand such "+
					"a one on as an artifact, "+
					"or where it is", i, domain.MaxItemBytes, keys[k])
			}
			for name, value := range result {
				bytes += len(name) + len(value)
			}
			if list[i] = result; bytes > domain.MaxResultsBytes {
				return tooLarge(int64(len(list)))
			}
		}
	}
	return nil
}

// resultOf is what a job of a flow has left, or a flow that a step of it made; ok is false
// where it is not there.
func resultOf(key string, r board.Record, flow domain.FlowID) (result map[string]string, ok bool) {
	if r == nil {
		return nil, false
	}
	if job, err := domain.ParseJobKey(key); err == nil {
		j, _ := layout.DecodeJob(job, r)
		return handedOn(j.Result), j.FlowID == flow
	}
	f, _ := layout.DecodeFlow(key, r) // a few of its fields
	return handedOn(f.Result), f.Parent != nil && f.Parent.Flow == flow && f.Result[elsewhere] == ""
}
