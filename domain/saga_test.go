package domain_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func TestEventTypes(t *testing.T) {
	for typ, want := range map[string]bool{
		"OrderPlaced": true, "order.placed/v1": true, "com.acme:Placed": true, "ä": true, "": false, "*": false, "a b": false, "a\u00a0b": false,
		"a\n": false, "\xff": false,
		strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
	} {
		if err := domain.ValidateEventType(typ); (err == nil) != want {
			t.Errorf("%q: %v", typ, err)
		}
	}
}
