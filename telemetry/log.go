package telemetry

import (
	"io"
	"log/slog"

	"github.com/ramet-run/ramet/domain"
)

// NewLogger returns a logger that writes to w as text or json, from level on
// (debug, info, warn, error).
//
// Errors: [domain.ErrInvalid].
func NewLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, domain.Invalidf("log level %q: want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, domain.Invalidf("log format %q: want text or json", format)
}
