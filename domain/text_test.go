package domain_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestWhatActs(t *testing.T) {
	for _, r := range "\x00\a\b\t\n\r\x1b\x7f\u0085\u009b\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\U000e0041" {
		if !domain.Acts(r) {
			t.Errorf("%U does nothing?", r)
		}
	}
	for _, r := range "aé ñ→…█א漢\u200c\u200d\ufe0f\u00a0\ufffd👩" {
		if domain.Acts(r) {
			t.Errorf("%U (%c) acts?", r, r)
		}
	}
	if got := domain.PlainText("a\x1b[2J\u202eb\u200dé", 100); got != "a?[2J?b\u200dé" {
		t.Errorf("got %q", got)
	}
}
