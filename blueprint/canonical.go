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
	slim.Params, slim.Env, slim.Output = unlessEmpty(b.Params), unlessEmpty(b.Env), unlessEmpty(b.Output)
	slim.Steps = make([]domain.Step, len(b.Steps))
	for i, s := range b.Steps {
		s.Params, s.Env, s.Affinity = unlessEmpty(s.Params), unlessEmpty(s.Env), unlessEmpty(s.Affinity)
		if len(s.Needs) == 0 {
			s.Needs = nil
		}
		if s.Retry.Equal(&domain.Retry{}) {
			s.Retry = nil
		}
		if s.Effect != nil {
			call := *s.Effect
			call.Params = unlessEmpty(call.Params)
			s.Effect = &call
		}
		slim.Steps[i] = s
	}
	return document.Encode(&slim)
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
