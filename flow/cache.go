package flow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file has a step take the result that it had in another flow.
//
// What is kept is which job succeeded for a key, in the commit that ends its step; the result
// is read from that job, on the board or in the archive, and its files from the store. So an
// entry is small, and one that is lost, or whose job or files have expired, costs a run.

// CacheAnswer is what is there for the key of a step: From is nil where it is to be run.
type CacheAnswer struct {
	Sum    string // of the key, in hexadecimal
	From   *domain.CachedFrom
	Result map[string]string
	Err    string // why the step has no key
}

// cache reports whether a step is to be run; where its result is there, or its key cannot be
// told, the step has been dealt with.
func (a *advancer) cache(i int) bool {
	answer, known := a.f.Cached[i]
	switch {
	case a.f.Cached == nil: // nothing is kept, as where a flow is played
		return true
	case !known && a.f.Later:
		a.d.More = true
		a.s.Sums.wait(a.p.rank[i], 0)
	case !known:
		a.d.AskCache = append(a.d.AskCache, i)
	case answer.Err != "":
		a.end(i, domain.StepErrored, "cache.key: "+answer.Err)
		a.mayAbort(i, &Unit{Outcome: string(work.OutcomeErrored)})
	case answer.From == nil:
		a.change(i).CacheSum = answer.Sum
		return true
	default:
		st := a.change(i)
		st.Cached, st.Result, st.SinceMs = answer.From, answer.Result, a.f.Now.UnixMilli()
		a.s.Cached += mapBytes(answer.Result)
		a.end(i, domain.StepSucceeded, fmt.Sprintf("taken from the cache: %s of %s had the same key", answer.From.Job, domain.FlowKey(answer.From.Flow)))
	}
	return false
}

// answerCache finds what is kept for the steps that were asked for.
func (t *tending) answerCache(ctx context.Context, plan *Plan, s *seen, v *verdict, f *Facts, begun time.Time) error {
	room := domain.MaxCachedFlow - s.State.Cached
	for _, c := range f.Cached {
		room -= mapBytes(c.Result)
	}
	for _, i := range v.AskCache {
		if f.Later = f.Later || len(f.Cached) > 0 && time.Since(begun) >= whenTime; f.Later {
			break
		}
		answer, err := t.cached(ctx, plan, s, v, i, min(room, domain.MaxCached))
		if err != nil {
			return err
		}
		f.Cached[i] = answer
		room -= mapBytes(answer.Result)
	}
	return nil
}

// cached is what is kept for a step, with a result of up to room bytes.
func (t *tending) cached(ctx context.Context, plan *Plan, s *seen, v *verdict, i, room int) (a CacheAnswer, err error) {
	step := &plan.Steps[i]
	needs, err := t.needed(ctx, plan, s, v, i, soughtByTemplates(step.Cache.Key))
	if cannotBe(err) {
		return CacheAnswer{Err: err.Error()}, nil
	} else if err != nil {
		return a, err
	}
	key, err := blueprint.FillTemplate(step.Cache.Key, templateValue(stepParams(plan, i, s.added), needs, item{}, 0))
	if err == nil && len(key) > domain.MaxCacheKey {
		err = domain.Limitf("it has %d bytes with what its names stand for, the limit is %d", len(key), domain.MaxCacheKey)
	}
	if err != nil {
		return CacheAnswer{Err: err.Error()}, nil
	}
	sum := cacheSum(plan, step, key, senderOf(&s.flow))
	a.Sum = hex.EncodeToString(sum[:])
	if s.NoCache || v.at(i).NoCache {
		return a, nil
	}
	record := layout.Cached(sum)
	recs, err := board.Readable(t.board.Get(ctx, t.ref.space, record))
	if err != nil || recs[0] == nil {
		return a, err
	}
	entry, err := layout.DecodeCacheEntry(record, recs[0])
	if err != nil || entry.Sum != a.Sum || !step.Cache.Fresh(entry.AtMs, s.now) {
		return a, nil
	}
	result, there, err := t.cachedResult(ctx, step, &entry)
	if err != nil || !there || mapBytes(result) > room {
		return a, err
	}
	a.From, a.Result = &entry.CachedFrom, result
	return a, nil
}

// cacheSum is the sum by which a key is kept: of all that makes the step the same one. A plan
// that a message brought may have the name of a blueprint here: it finds nothing of it, nor of what
// another has brought, and leaves them nothing.
func cacheSum(plan *Plan, step *domain.Step, key string, sender domain.ActorID) [32]byte {
	text, err := json.Marshal(struct {
		Blueprint, Step, Key, Script string
		Type                         domain.ScriptType
		Effect                       *domain.EffectCall
		Artifacts                    []string
		Sender                       domain.ActorID `json:",omitzero"`
	}{plan.Name, step.Name, key, step.Script, step.ScriptType, step.Effect, step.Artifacts, sender})
	if err != nil {
		panic("BUG: a step cannot be written as JSON: " + err.Error())
	}
	return sha256.Sum256(text)
}

// cachedResult reads the result that a job has left, and looks whether its files are still
// there. One that told its flow something beside its result (params.<name>, steps.<step>.<setting>)
// is not there for others: they would not be told.
func (t *tending) cachedResult(ctx context.Context, step *domain.Step, entry *layout.CacheEntry) (map[string]string, bool, error) {
	key, err := domain.ParseJobKey(entry.Job)
	if err != nil {
		return nil, false, nil
	}
	if len(step.Artifacts) > 0 {
		_, err := t.work.ArtifactsOf(ctx, t.tenant(), key)
		if errors.Is(err, domain.ErrNotFound) {
			return nil, false, nil
		} else if err != nil {
			return nil, false, err
		}
	}
	j, err := t.pastJob(ctx, t.tenant(), key)
	switch {
	case errors.Is(err, domain.ErrNotFound) || cannotBe(err):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case j.Status != domain.JobFinished || j.FlowID != entry.Flow || j.Step != step.Name:
		return nil, false, nil
	}
	result := map[string]string{}
	for name, value := range j.Result {
		if strings.HasPrefix(name, "params.") || strings.HasPrefix(name, domain.SettingPrefix) {
			return nil, false, nil
		}
		result[name] = value
	}
	return result, true, nil
}

// cacheMost is how many entries stand in one commit, each of three operations: in the commit of
// a round there is much else.
const cacheMost = 100

// keepCached adds to b which jobs have succeeded for the keys of their steps. Of very many the
// first go into commits of their own before that: those jobs have ended, whatever becomes of b.
func (t *tending) keepCached(ctx context.Context, b *board.Batch, plan *Plan, s *seen, v *verdict) error {
	own, n := t.batch(), 0
	for i, st := range v.changed {
		step := &plan.Steps[i]
		if step.Cache == nil || st.CacheSum == "" || st.Job == 0 || st.Status != domain.StepSucceeded || st.Result != nil ||
			s.known.At(i).Status.Done() {
			continue
		}
		var sum [32]byte
		if n, err := hex.Decode(sum[:], []byte(st.CacheSum)); err != nil || n != len(sum) {
			continue
		}
		if n == cacheMost {
			if err := t.board.Commit(ctx, own); err != nil {
				return err
			}
			own, n = t.batch(), 0
		}
		n++
		entry := layout.CacheEntry{Sum: st.CacheSum, CachedFrom: domain.CachedFrom{Flow: t.ref.id, AtMs: s.now.UnixMilli(),
			Job: domain.JobKey{Caller: s.caller, ID: st.Job}.String()}}
		key := layout.Cached(sum)
		own.Delete(key)
		own.Set(key, layout.EncodeCacheEntry(&entry)...).Expire(key, step.Cache.For.Time())
	}
	b.Ops = append(b.Ops, own.Ops...)
	return nil
}
