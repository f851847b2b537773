package definition_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
)

func parsed(t testing.TB, text string) *domain.SagaDefinition {
	t.Helper()
	d, err := definition.Parse("", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return d
}

// lines are those of the error that a text leads to.
func lines(t testing.TB, text string) []string {
	t.Helper()
	_, err := definition.Parse("", []byte(text))
	if err == nil {
		return nil
	}
	var wrong *definition.Error
	if !errors.As(err, &wrong) || !errors.Is(err, domain.ErrInvalid) {
		t.Fatalf("%T: %v", err, err)
	}
	return wrong.Lines()
}
