package identity_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

func TestWhoMayDecide(t *testing.T) {
	house := domain.Tenant{ID: 7, Admins: []domain.ActorID{2, 3}, Executors: []domain.ActorID{4}, Readers: []domain.ActorID{5}}
	for _, c := range []struct {
		name         string
		who          domain.ActorID
		approvers    []string
		notSubmitter bool
		may          bool
	}{
		{"nobody is named", 4, nil, false, true},
		{"an actor by number", 4, []string{"4"}, false, true},
		{"an actor by key", 4, []string{"actor:4"}, false, true},
		{"another actor", 2, []string{"4"}, false, false},
		{"a role", 2, []string{"admin"}, false, true},
		{"a stronger role", 2, []string{"executor"}, false, true},
		{"a weaker role", 4, []string{"admin"}, false, false},
		{"one of several", 5, []string{"admin", "actor:5"}, false, true},
		{"a stranger", 9, []string{"reader"}, false, false},
		{"nobody", 0, []string{"admin", "0"}, false, false},
		{"the submitter", 3, nil, true, false},
		{"the submitter, who is named", 3, []string{"3"}, true, false},
		{"not the submitter", 2, []string{"admin"}, true, true},
	} {
		if err := identity.MayDecide(house, c.who, 3, c.approvers, c.notSubmitter); (err == nil) != c.may || err != nil && !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("%s: got %v, may %v", c.name, err, c.may)
		}
	}
}
