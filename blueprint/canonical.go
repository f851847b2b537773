package blueprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Canonical is the one form of a blueprint: compact JSON with the fields in
// the order of the Go types, names of maps sorted, nothing that is empty, and
// without the version, which is given when it is stored.
func Canonical(b *domain.Blueprint) []byte {
	plain := *b
	plain.Version = 0
	return encode(&plain)
}

// Hash is the SHA-256 of the canonical form, in hex. Blueprints that differ in
// nothing but the version have the same.
func Hash(b *domain.Blueprint) string {
	sum := sha256.Sum256(Canonical(b))
	return hex.EncodeToString(sum[:])
}

// YAML writes a blueprint for people; Parse reads it back.
func YAML(b *domain.Blueprint) []byte {
	return document.YAML(encode(b))
}

// encode writes JSON without what is empty. HTML's characters stay as they
// are: people read scripts in it.
func encode(b *domain.Blueprint) []byte {
	slim := *b
	slim.Params, slim.Env, slim.Secrets, slim.Output = unlessEmpty(b.Params), unlessEmpty(b.Env), unlessEmpty(b.Secrets), unlessEmpty(b.Output)
	if len(b.Inputs) == 0 {
		slim.Inputs = nil
	}
	slim.Steps = make([]domain.Step, len(b.Steps))
	for i, s := range b.Steps {
		s.Params, s.Env, s.Secrets, s.Affinity = unlessEmpty(s.Params), unlessEmpty(s.Env), unlessEmpty(s.Secrets), unlessEmpty(s.Affinity)
		if len(s.Needs) == 0 {
			s.Needs = nil
		}
		if len(s.Artifacts) == 0 {
			s.Artifacts = nil
		}
		if s.Retry.Equal(&domain.Retry{}) {
			s.Retry = nil
		}
		s.Effect = encodeCall(s.Effect)
		if s.Approval != nil {
			s.Approval = encodeApproval(s.Approval)
		}
		if s.Flow != nil {
			call := *s.Flow
			call.Params = unlessEmpty(call.Params)
			s.Flow = &call
		}
		slim.Steps[i] = s
	}
	return document.Encode(&slim)
}

func encodeCall(c *domain.EffectCall) *domain.EffectCall {
	if c == nil {
		return nil
	}
	call := *c
	call.Params = unlessEmpty(call.Params)
	return &call
}

func encodeApproval(a *domain.Approval) *domain.Approval {
	slim := *a
	slim.Notice = encodeCall(a.Notice)
	if len(a.Approvers) == 0 {
		slim.Approvers = nil
	}
	slim.Answers = nil
	for _, f := range a.Answers {
		if len(f.Enum) == 0 {
			f.Enum = nil
		}
		slim.Answers = append(slim.Answers, f)
	}
	return &slim
}

func unlessEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// decode reads what encode wrote.
func decode(text []byte) (*domain.Blueprint, error) {
	b := new(domain.Blueprint)
	return b, json.Unmarshal(text, b)
}
