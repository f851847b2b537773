package service_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/service"
)

func TestUnlistedErrorsShowARequestID(t *testing.T) {
	var log bytes.Buffer
	a := service.New(service.Parts{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p := a.ProblemOf(service.WithRequestID(t.Context(), "r-1"), errors.New("open /secret/path: disk on fire"))
	if strings.Contains(p.Detail, "secret") || !strings.Contains(p.Detail, "r-1") || p.RequestID != "r-1" {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(log.String(), "request_id=r-1") || !strings.Contains(log.String(), "/secret/path") {
		t.Errorf("log: got %s", log.String())
	}
}
